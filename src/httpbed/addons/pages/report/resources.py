"""Resources of loads beside each other: when each began and ended, and how long it took.

The upper part shows begin and end of each resource, as Figures 11 and 12 of Zhang and Song (2023)
do; the lower one its time with and without what it waited in the browser, as Figure 5 of Biswal and
Gnawali (2016) does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.base.errors import visible
from httpbed.report.figures import MARKERS, WIDE_IN, round_ticks
from httpbed.report.phrasing import shortened
from httpbed.report.series import colours
from httpbed.report.svg import QUIET, VisibleFigure, name_marks

MAX_RESOURCES = 150
MAX_NAME = 60
"""Characters of a resource's path, where readers point at its mark."""
SPANS_IN, TIMES_IN = 1.9, 1.9


@dataclass(frozen=True)
class Span:
    """One resource, in seconds since the navigation began."""

    queued_s: float
    """When the page asked for it."""
    sent_s: float
    ended_s: float
    name: str
    """Its path, shortened."""


def spans(load: BrowserLoad) -> list[Span]:
    """List the resources for which the browser reported all three times, in request order."""
    all_spans = []
    for request in load.on_network():
        queued = request.queued_s if request.queued_s is not None else request.started_s
        sent, ended = request.send_start_s, request.ended_s
        if queued is not None and sent is not None and ended is not None and not request.failed:
            name = shortened(visible(request.path), MAX_NAME)
            all_spans.append(Span(queued, sent, ended, name))
    return sorted(all_spans, key=lambda span: (span.queued_s, span.sent_s))[:MAX_RESOURCES]


def draw(loads: Mapping[str, BrowserLoad]) -> VisibleFigure:
    """Draw the resources of typical loads."""
    by_load = {name: spans(load) for name, load in loads.items()}
    figure = VisibleFigure(figsize=(WIDE_IN, SPANS_IN + TIMES_IN), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(SPANS_IN + 0.2, TIMES_IN))
    above, below = parts
    _spans(above.subplots(1, len(by_load), sharex=True, sharey=True, squeeze=False)[0], by_load)
    with_queue, without = below.subplots(1, 2, sharex=True, sharey=True)
    _times(with_queue, by_load, "queueing included", queued=True)
    _times(without, by_load, "queueing excluded", queued=False)
    with_queue.set_ylabel("resource time (s)")
    _legend(below, list(by_load))
    return figure


def _spans(grid: Sequence[Axes], by_load: Mapping[str, Sequence[Span]]) -> None:
    hues = colours(by_load)
    for axes, (name, many) in zip(grid, by_load.items(), strict=True):
        rows = range(1, len(many) + 1)
        wide = max(0.5, min(2.6, 90 / max(1, len(many))))
        axes.hlines(
            rows, [s.queued_s for s in many], [s.sent_s for s in many], QUIET, linewidth=0.6
        )
        hue = hues[name]
        axes.hlines(rows, [s.sent_s for s in many], [s.ended_s for s in many], hue, linewidth=wide)
        axes.set_title(name, loc="left", fontsize=9, fontweight="bold")
        axes.set_xlabel("begin and end (s)")
        _mark_axes(axes)
    most = max((len(many) for many in by_load.values()), default=1)
    grid[0].set_ylim(most + 1, 0)
    grid[0].set_xlim(left=0)
    grid[0].set_ylabel("resource, as asked for")


def _times(axes: Axes, found: Mapping[str, Sequence[Span]], what: str, *, queued: bool) -> None:
    hues = colours(found)
    for index, (name, many) in enumerate(found.items()):
        times = [span.ended_s - (span.queued_s if queued else span.sent_s) for span in many]
        (marked,) = axes.plot(
            range(1, len(times) + 1),
            times,
            MARKERS[index % len(MARKERS)],
            color=hues[name],
            markersize=3.6,
            fillstyle="full" if index % 2 else "none",
            markeredgewidth=0.9,
        )
        texts = (f"{name}, {one.name}: {at:.3f} s" for one, at in zip(many, times, strict=True))
        name_marks(marked, texts)
    axes.set_title(what, loc="left", fontsize=9, fontweight="bold")
    axes.set_xlabel("resource, as asked for")
    axes.set_ylim(bottom=0)
    _mark_axes(axes)


def _mark_axes(axes: Axes) -> None:
    axes.grid()
    round_ticks(axes.xaxis, 5)
    round_ticks(axes.yaxis, 5)


def _legend(below: SubFigure, names: Sequence[str]) -> None:
    """Name the marks above both panels, where there are none."""
    hues = colours(names)
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            label=name,
            markersize=4,
            marker=MARKERS[index % len(MARKERS)],
            color=hues[name],
            fillstyle="full" if index % 2 else "none",
        )
        for index, name in enumerate(names)
    ]
    below.legend(
        handles=handles,
        frameon=False,
        fontsize=8,
        loc="outside upper right",
        ncols=len(names),
        handletextpad=0.2,
        borderpad=0,
    )
