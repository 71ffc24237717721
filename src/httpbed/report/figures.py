"""Figures: each treatment's distribution, and the metric against each numeric network factor.

Drawn with matplotlib's objects only (no pyplot, no global state), as SVG with its text as text
and as PDF with embedded fonts. Colours are Okabe and Ito's, which colour-blind readers tell
apart; every mark is also named directly, so that no colour has to be looked up.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from httpbed.analysis.findings import Condition, Findings, Row
from httpbed.model import units
from httpbed.model.impairments.queue import parse_queue_limit
from httpbed.report import network
from httpbed.report.phrasing import Scale, covering, scale_of, title, treatment

INK = "#1b1b1b"
QUIET = "#8a8a8a"
PALETTE = ("#c78500", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#7a6a00")
"""Okabe and Ito 2008; orange and yellow darkened to be seen on white, black kept for text."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
WIDTH_IN = 4.9
ROW_IN = 0.27
FIGURE_DPI = 100
LABEL_POINTS = 11.0
"""Least distance between the names of two curves."""
LOG_SPAN = 20
"""Ratio of largest to smallest value from which an axis is logarithmic."""
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "figure.dpi": FIGURE_DPI,
    "text.parse_math": False,  # a level may hold a dollar sign
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "xtick.color": INK,
    "ytick.color": INK,
}

_AXES: tuple[tuple[Callable[[object], float], float, str], ...] = (
    (units.parse_share, 0.01, "%"),
    (units.parse_duration, 1e-3, "ms"),
    (units.parse_rate, 1e6, "Mbit/s"),
    (units.parse_size, 1e3, "kB"),
    (lambda text: parse_queue_limit(text).amount, 1.0, "packets or BDP"),
)

End = tuple[tuple[float, float], str, str]
"""Where a curve ends, its name and its colour."""


@dataclass(frozen=True)
class Plot:
    """A figure with its words."""

    name: str
    """Of its files, without suffix."""
    caption: str
    alternative: str
    """What it shows, for those who do not see it."""
    figure: Figure

    def svg(self) -> str:
        """Draw as SVG, with no date, so that the same results give the same file."""
        return self._svg

    @cached_property
    def _svg(self) -> str:
        """Draw it once: the page and the campaign's folder have the same."""
        buffer = io.StringIO()
        with mpl.rc_context({**STYLE, "svg.hashsalt": self.name}):
            self.figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
        self.figure.set_layout_engine("none")  # settled, and slow to settle again
        return buffer.getvalue()

    def pdf(self) -> bytes:
        """Draw as PDF, likewise."""
        buffer = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
        return buffer.getvalue()

    def save(self, folder: Path) -> None:
        """Write both forms."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.svg").write_text(self.svg(), encoding="utf-8")
        (folder / f"{self.name}.pdf").write_bytes(self.pdf())


def plots(findings: Findings, document: Mapping[str, Any]) -> list[Plot]:
    """Draw every figure of a report; none while there are no values."""
    if not any(row.sample.n for _, row in findings.rows()):
        return []
    with mpl.rc_context(STYLE):
        return [distribution(findings, document), *against_factors(findings)]


def distribution(findings: Findings, document: Mapping[str, Any]) -> Plot:
    """Draw every value as a dot, with median and interval, a line for each treatment."""
    scale = scale_of(findings)
    lines = list(_lines(findings, document))
    figure = Figure(figsize=(WIDTH_IN, 0.75 + ROW_IN * len(lines)), layout="constrained")
    axes = figure.subplots()
    for y, (_, row) in enumerate(lines):
        if row is not None:
            _strip(axes, y, row, scale, _style(findings, row))
    axes.set_yticks(range(len(lines)), [label for label, _ in lines])
    for tick, (_, row) in zip(axes.get_yticklabels(), lines, strict=True):
        tick.set_fontweight("normal" if row is not None else "bold")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _quiet(axes, grid="x")
    _value_axis(axes, findings, scale, "x")
    intervals = [row.estimate.interval for _, row in findings.rows() if row.estimate]
    what = title(findings.metric)
    censored = any(row.sample.censored for _, row in findings.rows())
    beyond = " A triangle is a trial that timed out: its value lies beyond." if censored else ""
    return Plot(
        name=f"{findings.metric}-distribution",
        caption=f"Each dot is one trial's {what}; the tall tick is the median, the bar its"
        f" {covering(intervals)}.{beyond}",
        alternative=f"Distribution of {what} for each treatment. "
        + " ".join(_told(findings, document, scale)),
        figure=figure,
    )


def against_factors(findings: Findings) -> Iterator[Plot]:
    """Draw the medians against each network factor with at least two numeric levels."""
    for name in findings.network:
        levels = dict.fromkeys(condition.levels[name] for condition in findings.conditions)
        axis = _numeric(tuple(levels))
        if axis is not None and len(levels) > 1:
            yield _against(findings, name, *axis)


def _against(findings: Findings, name: str, places: Mapping[str, float], unit: str) -> Plot:
    scale = scale_of(findings)
    facets = _facets(findings, name)
    size = (WIDTH_IN, 0.4 + 2.4 * len(facets))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(facets), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    ends = []
    for axes, (facet, conditions) in zip(grid, facets.items(), strict=True):
        drawn = _curves(axes, findings, _points(findings, conditions, name, places), scale)
        axes.set_title(facet, loc="left", fontsize=9, fontweight="bold")
        _quiet(axes, grid="y")
        _value_axis(axes, findings, scale, "y")
        axes.set_xticks(sorted(set(places.values())))
        axes.margins(x=0.06)
        ends.append((axes, drawn))
    grid[-1].set_xlabel(f"{title(name)} ({unit})")
    figure.draw_without_rendering()  # settles where curves end, hence where their names go
    for axes, drawn in ends:
        _name_curves(axes, drawn)
    what = title(findings.metric)
    return Plot(
        name=f"{findings.metric}-by-{name}",
        caption=f"Median {what} against {title(name)}; bars are the intervals of the medians.",
        alternative=f"Median {what} against {title(name)}, a line for each treatment;"
        " the same figures are in the table of medians.",
        figure=figure,
    )


def _lines(findings: Findings, document: Mapping[str, Any]) -> Iterator[tuple[str, Row | None]]:
    """Yield the label of each line; a condition's heading has no row."""
    for condition in findings.conditions:
        if condition.levels:
            yield network.condition(document, condition.levels), None
        for row in condition.rows:
            yield treatment(row.levels, findings.others), row


def _strip(axes: Axes, y: float, row: Row, scale: Scale, style: tuple[str, str]) -> None:
    color = style[0]
    dots = [value / scale.factor for value in row.sample.observed.values()]
    offsets = list(itertools.islice(itertools.cycle((0.0, -0.14, 0.14, -0.07, 0.07)), len(dots)))
    heights = [y + offset for offset in offsets]
    axes.plot(dots, heights, "o", markersize=4.5, color=color, alpha=0.6, markeredgewidth=0)
    beyond = [bound / scale.factor for bound in row.sample.censored.values()]
    marker = "<" if row.sample.side == "<" else ">"
    axes.plot(beyond, [y] * len(beyond), marker, markersize=5, color=color, fillstyle="none")
    if row.estimate is None:
        return
    if row.estimate.interval is not None:
        ends = (row.estimate.interval.low, row.estimate.interval.high)
        axes.plot([end.value / scale.factor for end in ends], [y, y], color=color, linewidth=1.2)
    median = row.estimate.median.value / scale.factor
    axes.plot([median, median], [y - 0.34, y + 0.34], color=color, linewidth=2.4)


def _points(
    findings: Findings, conditions: list[Condition], name: str, places: Mapping[str, float]
) -> dict[str, list[tuple[float, Row]]]:
    """Gather each curve's points, shifted a little so that intervals do not hide each other."""
    curves: dict[str, list[tuple[float, Row]]] = {}
    for condition in sorted(conditions, key=lambda one: places[one.levels[name]]):
        for row in condition.rows:
            label = treatment(row.levels, findings.others)
            if row.estimate is not None:
                curves.setdefault(label, []).append((places[condition.levels[name]], row))
    step = 0.012 * (max(places.values()) - min(places.values()))
    return {
        label: [(x + step * (index - (len(curves) - 1) / 2), row) for x, row in points]
        for index, (label, points) in enumerate(curves.items())
    }


def _curves(
    axes: Axes, findings: Findings, curves: Mapping[str, list[tuple[float, Row]]], scale: Scale
) -> list[End]:
    ends = []
    for label, points in curves.items():
        style = _style(findings, points[0][1])
        ends.append((_curve(axes, points, scale, style), label, style[0]))
    return ends


def _curve(
    axes: Axes, points: list[tuple[float, Row]], scale: Scale, style: tuple[str, str]
) -> tuple[float, float]:
    color, marker = style
    xs, ys = [], []
    for x, row in points:
        if row.estimate is None:
            continue
        xs.append(x)
        ys.append(row.estimate.median.value / scale.factor)
        if row.estimate.interval is not None:
            ends = (row.estimate.interval.low, row.estimate.interval.high)
            bar = [end.value / scale.factor for end in ends]
            axes.plot([x, x], bar, color=color, linewidth=1.2, alpha=0.7)
    axes.plot(xs, ys, color=color, marker=marker, markersize=5, linewidth=1.5)
    return xs[-1], ys[-1]


def _name_curves(axes: Axes, ends: list[End]) -> None:
    """Write each curve's name beside its end, moved apart where ends lie close."""
    right = max((point[0] for point, _, _ in ends), default=0.0)
    last = float("-inf")
    for point, label, color in sorted(ends, key=lambda end: end[0][1]):
        y_points = axes.transData.transform(point)[1] * 72 / FIGURE_DPI
        at = last = max(y_points, last + LABEL_POINTS)
        axes.annotate(
            label,
            (right, point[1]),
            xytext=(8, at - y_points),
            textcoords="offset points",
            color=color,
            va="center",
            annotation_clip=False,
        )


def _facets(findings: Findings, name: str) -> dict[str, list[Condition]]:
    facets: dict[str, list[Condition]] = {}
    for condition in findings.conditions:
        rest = {key: level for key, level in condition.levels.items() if key != name}
        label = ", ".join(f"{title(key)} {level}" for key, level in rest.items())
        facets.setdefault(label, []).append(condition)
    return facets


def _numeric(levels: tuple[str, ...]) -> tuple[dict[str, float], str] | None:
    for parse, factor, unit in _AXES:
        try:
            return {text: parse(text) / factor for text in levels}, unit
        except ValueError:
            continue
    return None


def _style(findings: Findings, row: Row) -> tuple[str, str]:
    """Give a treatment the same colour and marker in every condition."""
    keys = [treatment(other.levels, findings.others) for _, other in findings.rows()]
    index = list(dict.fromkeys(keys)).index(treatment(row.levels, findings.others))
    return PALETTE[index % len(PALETTE)], MARKERS[index % len(MARKERS)]


def _quiet(axes: Axes, grid: str) -> None:
    axes.spines[["top", "right", "left" if grid == "x" else "bottom"]].set_visible(False)
    axes.grid(axis="x" if grid == "x" else "y", color=QUIET, alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def _value_axis(axes: Axes, findings: Findings, scale: Scale, which: str) -> None:
    values = [
        value for _, row in findings.rows() for value in row.sample.at_bound().values() if value > 0
    ]
    axis = axes.xaxis if which == "x" else axes.yaxis
    unit = f" ({scale.unit})" if scale.unit else ""
    axis.set_label_text(f"{title(findings.metric)}{unit}")
    if values and max(values) / min(values) >= LOG_SPAN:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        return
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if which == "y":
        axes.set_ylim(bottom=0)


def _told(findings: Findings, document: Mapping[str, Any], scale: Scale) -> Iterator[str]:
    for condition, row in findings.rows():
        if row.estimate is not None:
            at = network.condition(document, condition.levels)
            label = treatment(row.levels, findings.others)
            where = f"{label} at {at}" if at else label
            yield f"{where}: median {scale.bounded(row.estimate.median)}."
