"""A history as a page with a line for each treatment, and as a badge for a README."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.ticker import MaxNLocator

from httpbed.addons.gate.trend import Trend, by_commit, percent
from httpbed.base import disk
from httpbed.report import svg, templating
from httpbed.report.figures import STYLE, Plot
from httpbed.report.phrasing import number_format, sentence_case, title
from httpbed.report.svg import PALETTE, QUIET, VisibleFigure

PAGE, BADGE, ENDPOINT = "history.html", "badge.svg", "badge.json"
FILES = (PAGE, BADGE, ENDPOINT)
WIDTH_IN, HEIGHT_IN = 7.0, 1.5
LINE, WORSE = PALETTE[1], PALETTE[2]
GREEN, RED = "#2f7d32", "#b23b00"
MAX_COMMITS = 300
"""The latest commits are drawn: a point of each is in the page, with its words."""
RECENT = 20
"""Commits whose changes the badge names."""


def save(trends: Sequence[Trend], folder: Path) -> list[Path]:
    """Write the page and the badge into a folder; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    message, is_worse = verdict(trends)
    texts = {
        PAGE: page(trends, message),
        BADGE: badge(message, is_worse=is_worse),
        ENDPOINT: json.dumps(endpoint(message, is_worse=is_worse)) + "\n",
    }
    for name, text in texts.items():
        disk.write_output(folder / name, text.encode())
    return [folder / name for name in texts]


def verdict(trends: Sequence[Trend]) -> tuple[str, bool]:
    """Name the largest change for the worse within the latest commits, and say if there is one."""
    worse = [
        (abs(change.ratio - 1), f"{percent(change)} {one.treatment}")
        for one in trends
        for change in one.changes
        if one.is_worse(change) and change.index >= len(one.entries) - RECENT
    ]
    if worse:
        return max(worse)[1], True
    return f"no change in {min(RECENT, max(len(one.entries) for one in trends))} commits", False


def page(trends: Sequence[Trend], message: str) -> str:
    """Lay out the page, which needs nothing else."""
    return templating.render(
        "history.html.j2",
        "httpbed.addons.gate",
        httpbed=metadata.version("httpbed"),
        message=message,
        changes=by_commit(trends),
        trends=[
            {
                "name": one.treatment,
                "where": f"{one.scenario}, {title(one.metric)}, {one.clock} time",
                "plot": svg.inline(_plot(number, one)),
            }
            for number, one in enumerate(trends)
        ],
    )


def _plot(number: int, trend: Trend) -> Plot:
    """Draw a point for each commit, and a line at each level."""
    form = number_format(trend.metric, trend.medians)
    first = max(0, len(trend.entries) - MAX_COMMITS)
    shown = list(enumerate(trend.medians))[first:]
    with mpl.rc_context(STYLE):
        figure = VisibleFigure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes = figure.subplots()
        places, values = zip(*shown, strict=True)
        heights = [value / form.factor for value in values]
        (points,) = axes.plot(places, heights, "o", color=LINE, markersize=2.5)
        points.set_gid(f"trend-{number}")
        figure.words[f"trend-{number}"] = [
            f"{one.commit[:12]} {one.date[:10]} {one.subject}: {form.number(value)} {form.unit}"
            for one, value in zip(trend.entries[first:], values, strict=True)
        ]
        for begin, end, level in trend.levels:
            if end > first:
                ends = [max(begin, first), end - 1]
                axes.plot(ends, [level / form.factor] * 2, color=WORSE, linewidth=1.2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color=QUIET, alpha=0.25, linewidth=0.6)
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_xlabel("commit")
        axes.set_ylabel(form.unit)
    words = "; ".join(map(trend.words, trend.changes)) or "no change of level"
    text = f"{sentence_case(title(trend.metric))} over {len(trend.entries)} commits: {words}"
    return Plot(name=f"trend-{number}", caption=text, alternative=text, figure=figure)


def endpoint(message: str, *, is_worse: bool) -> Mapping[str, Any]:
    """Return the JSON from which shields.io draws a badge."""
    colour = RED if is_worse else GREEN
    return {"schemaVersion": 1, "label": "httpbed", "message": message, "color": colour}


def badge(message: str, *, is_worse: bool) -> str:
    """Draw a badge."""
    return templating.render(
        "badge.svg.j2",
        "httpbed.addons.gate",
        message=message,
        colour=RED if is_worse else GREEN,
        width=round(7 * len(message)) + 12,
    )
