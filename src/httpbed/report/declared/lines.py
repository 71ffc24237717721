"""Values over a numeric factor: a line for each series, a panel for each condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from httpbed.analysis.figure_values import FigureValue
from httpbed.experiment.figures.placed import Levels, PlacedFigure
from httpbed.experiment.numeric_levels import NumericLevels, numeric_levels
from httpbed.report.declared import panels
from httpbed.report.declared.panels import ValueScale
from httpbed.report.figures import INK, MARKERS, axis_text
from httpbed.report.phrasing import NumberFormat
from httpbed.report.visible_figure import VisibleFigure, name_marks

PANEL_IN, ALONE_IN = 2.1, 3.1
TICK_ROOM = 0.075
"""Least distance of two named ticks, as a share of the axis of a panel that stands alone."""


def draw(placed: PlacedFigure, values: Sequence[FigureValue]) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the lines; also return the format of their values."""
    scale = panels.value_scale(placed, values)
    axis = numeric_levels(placed.columns) or NumericLevels({}, "")
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    alone = len(placed.panels) == 1
    shown = panels.panel_grid(
        placed, ALONE_IN if alone else PANEL_IN, legend=panels.legend_of(placed, signs)
    )
    lines: dict[tuple[Levels, Levels], list[FigureValue]] = {}
    for one in values:
        lines.setdefault((one.cell.panel, one.cell.series), []).append(one)
    for panel, axes in shown.axes.items():
        _axes(axes, placed, axis, shown.columns)
        panels.value_axis(axes.yaxis, scale.ends, log="y" in placed.stated.log)
        _mark_published(axes, placed, panel, scale, axis.places)
    for (panel, _), own in lines.items():
        _line(shown.axes[panel], placed, own, scale, axis.places)
    shown.figure.supxlabel(axis_text(str(placed.stated.x), axis.unit), fontsize=9)
    text = panels.value_text(placed, scale.form, placed.stated.shown_statistic)
    panels.name_vertical_axes(shown.figure, text)
    return shown.figure, scale.form


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        color=panels.colour(placed, levels),
        marker=_marker(placed, levels),
        markersize=5,
        linewidth=1.5,
        label=panels.series_name(placed, levels),
    )


def _marker(placed: PlacedFigure, levels: Levels) -> str:
    return MARKERS[placed.series.index(levels) % len(MARKERS)]


def _line(
    axes: Axes,
    placed: PlacedFigure,
    own: Sequence[FigureValue],
    scale: ValueScale,
    places: Mapping[str, float],
) -> None:
    """Draw one line; where it is only a bound it may leave the panel."""
    ordered = sorted(own, key=lambda one: places[one.cell.x])
    colour = panels.colour(placed, ordered[0].cell.series)
    marker = _marker(placed, ordered[0].cell.series)
    xs = [places[one.cell.x] for one in ordered]
    ys = [scale.shown(one.value.value) for one in ordered]
    (line,) = axes.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=1.5)
    name_marks(line, (panels.value_words(placed, one, scale.form) for one in ordered))
    for x, y, one in zip(xs, ys, ordered, strict=True):
        if one.low is not None and one.high is not None:
            ends = [scale.shown(one.low), scale.shown(one.high)]
            axes.plot([x, x], ends, color=colour, linewidth=1.2, alpha=0.7)
        if placed.stated.points:
            dots = [scale.shown(value) for value in one.trials]
            style = {"markersize": 3.5, "alpha": 0.45, "markeredgewidth": 0}
            axes.plot([x] * len(dots), dots, "o", color=colour, **style)  # type: ignore[arg-type]
        if one.value.beyond or one.timed_out:
            sign = "v" if one.value.beyond == "<" else "^"
            (mark,) = axes.plot([x], [min(y, scale.ends[1])], sign, color=INK, markersize=8)
            mark.set(fillstyle="none", clip_on=False)


def _mark_published(
    axes: Axes,
    placed: PlacedFigure,
    panel: Levels,
    scale: ValueScale,
    places: Mapping[str, float],
) -> None:
    for cell in placed.cells:
        if cell.panel != panel:
            continue
        x = places[cell.x]
        for low, high in panels.published_ends(placed, cell.treatment, scale):
            axes.plot([x, x], [low, high], color=INK, linewidth=1.3, **panels.MARK)  # type: ignore[arg-type]


def _axes(axes: Axes, placed: PlacedFigure, axis: NumericLevels, columns: int) -> None:
    stated = placed.stated
    log = "x" in stated.log
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    named = _named_ticks(axis.places, log=log, room=TICK_ROOM * columns)
    axes.xaxis.set_major_locator(FixedLocator(sorted(axis.places.values())))
    texts = [f"{at:g}" if at in named else "" for at in sorted(axis.places.values())]
    axes.xaxis.set_major_formatter(FixedFormatter(texts))
    if stated.ratio_to:
        axes.axhline(1.0, color=INK, linewidth=0.9)
    panels.grid_lines(axes, "y")


def _named_ticks(places: Mapping[str, float], *, log: bool, room: float) -> set[float]:
    """Choose the ticks that have room for their number: both ends, and what fits between."""
    ordered = sorted(set(places.values()))
    at = [math.log(one) if log else one for one in ordered]
    span = (at[-1] - at[0]) or 1.0
    named = [0, len(at) - 1]
    for index in range(1, len(at) - 1):
        if all(abs(at[index] - at[other]) / span >= room for other in named):
            named.append(index)
    return {ordered[index] for index in named}
