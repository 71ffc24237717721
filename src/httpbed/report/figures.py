"""Figures: each treatment's distribution, and the metric against each numeric network factor.

Drawn with matplotlib's objects only (no pyplot, no global state), as SVG with its text as text
and as PDF with embedded fonts. Colours are Okabe and Ito's, which colour-blind readers tell
apart; every mark also has its words where the reader points.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from httpbed.experiment.factorial import NumericLevels, numeric_levels
from httpbed.report import experiment_words
from httpbed.report.phrasing import (
    NumberFormat,
    bracketed,
    covering,
    level,
    shortened,
    table_format,
    title,
    treatment,
)
from httpbed.report.svg import (
    MARKERS,
    ROW_IN,
    STYLE,
    WIDTH_IN,
    Plot,
    VisibleFigure,
    colours,
    legend,
    name_marks,
)
from httpbed.results.findings import Condition, Findings, Row
from httpbed.results.sample import at_even_ranks

LEGEND_LINE_IN = 0.19
MAX_TREATMENTS_PER_DISTRIBUTION = 120
MAX_DOTS_PER_TREATMENT = 50
MAX_CURVES, MAX_PANELS = 12, 6
"""Curves and panels of a figure against a factor."""
MAX_NAME, MAX_HEADING, MAX_AXIS = 36, 60, 30
"""Letters of a treatment's name, of a heading above treatments, and of a line beside an axis."""
LOG_SPAN = 20
"""Ratio of largest to smallest value from which an axis is logarithmic."""


def plots(findings: Findings, document: Mapping[str, Any]) -> list[Plot]:
    """Draw every figure of a report; none while there are no values."""
    if not any(row.sample.n for _, row in findings.rows()):
        return []
    with mpl.rc_context(STYLE):
        return [distribution(findings, document), *against_factors(findings)]


def distribution(findings: Findings, document: Mapping[str, Any]) -> Plot:
    """Draw every value as a dot, with median and interval, a line for each treatment."""
    form = table_format(findings)
    every, styles = list(_lines(findings, document)), looks(findings)
    lines = every[:MAX_TREATMENTS_PER_DISTRIBUTION]
    figure = VisibleFigure(figsize=(WIDTH_IN, 0.75 + ROW_IN * len(lines)), layout="constrained")
    axes = figure.subplots()
    for y, (label, row) in enumerate(lines):
        if row is None:
            _heading(figure, axes, y, label)
        else:
            _strip(axes, y, row, form, (label, *styles[label]))
    axes.set_yticks(range(len(lines)), [shortened(text, MAX_NAME) * bool(r) for text, r in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _quiet(axes, grid="x")
    _value_axis(axes, findings, form, "x")
    intervals = [row.estimate.interval for _, row in findings.rows() if row.estimate]
    what = title(findings.metric)
    censored = any(row.sample.censored for _, row in findings.rows())
    beyond = " A triangle is a trial that timed out: its value lies beyond." if censored else ""
    if any(len(row.sample.observed) > MAX_DOTS_PER_TREATMENT for _, row in lines if row):
        beyond += (
            f" Of many trials of a treatment, {MAX_DOTS_PER_TREATMENT} at even ranks are drawn."
        )
    more = sum(row is not None for _, row in every[MAX_TREATMENTS_PER_DISTRIBUTION:])
    if more:
        beyond += f" {more} further treatments are not drawn; the table has all."
    return Plot(
        name=f"{findings.metric}-distribution",
        caption=f"Each dot is one trial's {what}; the tall tick is the median, the bar its"
        f" {covering(intervals)}.{beyond}",
        alternative=f"Distribution of {what} for each treatment; its median and interval are in the"
        " table of medians.",
        figure=figure,
    )


def against_factors(findings: Findings) -> Iterator[Plot]:
    """Draw the medians against each network factor with at least two numeric levels."""
    for name in findings.network:
        levels = dict.fromkeys(condition.levels[name] for condition in findings.conditions)
        axis = numeric_levels(levels)
        if axis is not None and len(levels) > 1:
            yield _against(findings, name, axis)


def _against(findings: Findings, name: str, axis: NumericLevels) -> Plot:
    form, places = table_format(findings), axis.places
    every, styles = _facets(findings, name), looks(findings)
    chosen = list(styles)[:MAX_CURVES]
    facets = dict(itertools.islice(every.items(), MAX_PANELS))
    size = (WIDTH_IN, 0.4 + LEGEND_LINE_IN * -(-len(chosen) // 2) + 2.4 * len(facets))
    figure = VisibleFigure(figsize=size, layout="constrained")
    grid = figure.subplots(len(facets), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, (facet, conditions) in zip(grid, facets.items(), strict=True):
        points = _points(findings, conditions, name, places)
        for label in (label for label in points if label in chosen):
            _curve(axes, points[label], form, (label, *styles[label]))
        axes.set_title(shortened(facet, MAX_HEADING))
        _quiet(axes, grid="y")
        _value_axis(axes, findings, form, "y")
        axes.set_xticks(sorted(set(places.values())))
        axes.margins(x=0.06)
    grid[-1].set_xlabel(axis_text(name, axis.unit))
    if len(chosen) > 1:
        legend(figure, {label: (*styles[label], "-") for label in chosen}, columns=2)
    what = title(findings.metric)
    return Plot(
        name=f"{findings.metric}-by-{name}",
        caption=f"Median {what} against {title(name)}; bars are the intervals of the medians."
        + _left_out(len(styles) - len(chosen), len(every) - len(facets)),
        alternative=f"Median {what} against {title(name)}, a line for each treatment;"
        " the same figures are in the table of medians.",
        figure=figure,
    )


def axis_text(name: str, unit: str) -> str:
    """Name an axis with its unit, if it has one."""
    return f"{title(name)} ({unit})" if unit else title(name)


def _left_out(curves: int, panels: int) -> str:
    text = [
        f"{count} further {what}"
        for count, what in ((curves, "treatments"), (panels, "conditions"))
        if count > 0
    ]
    return (
        f" {' and '.join(text)} are not drawn; the table has all, and a [[figure]] can draw them."
        if text
        else ""
    )


def _heading(figure: VisibleFigure, axes: Axes, y: float, words: str) -> None:
    """Write what the lines below have in common, from the figure's edge on."""
    place = blended_transform_factory(figure.transFigure, axes.transData)
    text = shortened(words, MAX_HEADING)
    axes.text(0.01, y, text, transform=place, va="center", fontweight="bold").set_in_layout(False)


def _lines(findings: Findings, document: Mapping[str, Any]) -> Iterator[tuple[str, Row | None]]:
    """Yield the label of each line; a condition's heading has no row."""
    for condition in findings.conditions:
        if condition.levels:
            texts = _telling_levels(findings, condition)
            yield texts or experiment_words.condition(document, condition.levels), None
        for row in condition.rows:
            yield treatment(row.levels, findings.others), row


def _strip(axes: Axes, y: float, row: Row, form: NumberFormat, style: tuple[str, str, str]) -> None:
    name, color, _ = style
    values = at_even_ranks(row.sample.observed, MAX_DOTS_PER_TREATMENT)
    dots = [value / form.factor for value in values.values()]
    offsets = list(itertools.islice(itertools.cycle((0.0, -0.14, 0.14, -0.07, 0.07)), len(dots)))
    heights = [y + offset for offset in offsets]
    (marked,) = axes.plot(dots, heights, "o", ms=4.5, color=color, alpha=0.6, markeredgewidth=0)
    texts = (f"{name}, block {at}: {form.number(v)} {form.unit}" for at, v in values.items())
    name_marks(marked, texts)
    beyond = [
        bound / form.factor
        for bound in at_even_ranks(row.sample.censored, MAX_DOTS_PER_TREATMENT).values()
    ]
    marker = "<" if row.sample.side == "<" else ">"
    axes.plot(beyond, [y] * len(beyond), marker, markersize=5, color=color, fillstyle="none")
    if row.estimate is None:
        return
    if row.estimate.interval is not None:
        ends = (row.estimate.interval.low, row.estimate.interval.high)
        axes.plot([end.value / form.factor for end in ends], [y, y], color=color, linewidth=1.2)
    median = row.estimate.median.value / form.factor
    (tick,) = axes.plot([median, median], [y - 0.34, y + 0.34], color=color, linewidth=2.4)
    name_marks(tick, [_median(name, row, form)])


def _median(name: str, row: Row, form: NumberFormat) -> str:
    """Write a treatment's median with its interval."""
    if row.estimate is None:
        return name
    interval = bracketed(form, row.estimate.interval)
    return f"{name}: median {form.bounded(row.estimate.median)} {interval}".rstrip()


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


def _curve(
    axes: Axes, points: list[tuple[float, Row]], form: NumberFormat, style: tuple[str, str, str]
) -> None:
    name, color, marker = style
    xs, ys = [], []
    for x, row in points:
        if row.estimate is None:
            continue
        xs.append(x)
        ys.append(row.estimate.median.value / form.factor)
        if row.estimate.interval is not None:
            ends = (row.estimate.interval.low, row.estimate.interval.high)
            bar = [end.value / form.factor for end in ends]
            axes.plot([x, x], bar, color=color, linewidth=1.2, alpha=0.7)
    (line,) = axes.plot(xs, ys, color=color, marker=marker, markersize=5, linewidth=1.5)
    name_marks(line, (_median(name, row, form) for _, row in points if row.estimate))


def _facets(findings: Findings, name: str) -> dict[str, list[Condition]]:
    facets: dict[str, list[Condition]] = {}
    for condition in findings.conditions:
        facets.setdefault(_telling_levels(findings, condition, besides=name), []).append(condition)
    return facets


def _telling_levels(findings: Findings, condition: Condition, besides: str = "") -> str:
    """Name the levels that distinguish a condition from the others."""
    telling = [
        name
        for name in findings.network
        if name != besides and len({one.levels[name] for one in findings.conditions}) > 1
    ]
    return ", ".join(level(name, condition.levels[name]) for name in telling)


def looks(findings: Findings) -> dict[str, tuple[str, str]]:
    """Give each treatment the same colour and marker in every condition."""
    every = (treatment(row.levels, findings.others) for _, row in findings.rows())
    names = list(dict.fromkeys(every))
    hues, markers = colours(names), itertools.cycle(MARKERS)
    return {name: (hues[name], marker) for name, marker in zip(names, markers, strict=False)}


def _quiet(axes: Axes, grid: str) -> None:
    axes.spines["left" if grid == "x" else "bottom"].set_visible(False)
    axes.grid(axis="x" if grid == "x" else "y")


def _value_axis(axes: Axes, findings: Findings, form: NumberFormat, which: str) -> None:
    values = [
        value for _, row in findings.rows() for value in row.sample.at_bound().values() if value > 0
    ]
    axis = axes.xaxis if which == "x" else axes.yaxis
    unit = f" ({form.unit})" if form.unit else ""
    text = f"{title(findings.metric)}{unit}"
    axis.set_label_text("\n".join(wrap(text, MAX_AXIS)) if which == "y" else text)
    if values and max(values) / min(values) >= LOG_SPAN:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        return
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if which == "y":
        axes.set_ylim(bottom=0)
