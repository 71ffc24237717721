"""Values over a numeric factor: a line for each series, a panel for each condition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_panels import ValueScale
from httpbed.addons.figures.figure_values import FigureValue
from httpbed.addons.figures.stated_figure import FigurePlace, Levels, PlacedFigure
from httpbed.experiment.factorial import NumericLevels, numeric_levels
from httpbed.report.figures import axis_text
from httpbed.report.phrasing import NumberFormat
from httpbed.report.svg import DASHES, INK, MARKERS, VisibleFigure, name_marks

PANEL_IN, ALONE_IN = 2.1, 3.1
CROSS_ROOM = 0.06
"""Between the rows of crosses, as a share of the panel's height."""
_CROSS = {"marker": "x", "markersize": 5, "markeredgewidth": 1.4, "linestyle": "none"}
TICK_ROOM = 0.075
"""Least distance of two named ticks, as a share of the axis of a panel that stands alone."""


def draw(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the lines; also return the format of their values."""
    form = figure_panels.value_format(placed, [value.value.value for value in values])
    scale = figure_panels.value_scale(placed, values, form)
    axis = numeric_levels(placed.columns) or NumericLevels({}, "")
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    legend = figure_panels.legend_of(placed, signs, has_hatches=False)
    if not all(missing.values()):
        legend.append(Line2D([], [], color=INK, label=figure_panels.NOT_RUN, **_CROSS))  # type: ignore[arg-type]
    shown = figure_panels.panel_grid(
        placed,
        ALONE_IN if len(placed.panels) == 1 else PANEL_IN,
        heading=figure_panels.heading(placed, (value.n for value in values)),
        legend=legend,
    )
    lines: dict[tuple[Levels, Levels], list[FigureValue]] = {}
    for value in values:
        lines.setdefault((value.cell.panel, value.cell.series), []).append(value)
    for panel, axes in shown.axes.items():
        _axes(axes, placed, axis, shown.columns)
        figure_panels.value_axis(axes.yaxis, scale.ends, log="y" in placed.stated.log)
        _mark_published(axes, placed, panel, scale, axis.places)
        _missing(axes, placed, panel, missing, axis.places)
    for (panel, _), own in lines.items():
        _line(shown.axes[panel], placed, own, scale, axis.places)
    shown.figure.supxlabel(axis_text(str(placed.stated.x), axis.unit), fontsize=9)
    text = figure_panels.value_text(placed, form, placed.stated.shown_statistic)
    figure_panels.name_vertical_axes(shown.figure, text)
    return shown.figure, form


def _missing(
    axes: Axes,
    placed: PlacedFigure,
    panel: Levels,
    missing: Mapping[FigurePlace, bool],
    places: Mapping[str, float],
) -> None:
    """Mark cells that did not run by crosses, a row with a name for each series."""
    rows: dict[Levels, list[float]] = {}
    for (at, series, x, *_), ran in missing.items():
        if at == panel and not ran:
            rows.setdefault(series, []).append(places[x])
    for row, series in enumerate(one for one in placed.series if one in rows):
        height = 1 - CROSS_ROOM * (row + 0.6)
        style: dict[str, Any] = {**_CROSS, "color": figure_panels.tone(placed, series)}
        transform = axes.get_xaxis_transform()
        axes.plot(rows[series], [height] * len(rows[series]), transform=transform, **style)
        axes.annotate(
            figure_panels.series_name(placed, series),
            (max(rows[series]), height),
            xycoords=transform,
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=style["color"],
        )


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        label=figure_panels.series_name(placed, levels),
        **_look(placed, levels),  # type: ignore[arg-type]
    )


def _look(placed: PlacedFigure, levels: Levels) -> Mapping[str, object]:
    """Return marker and dashes, which distinguish series of one colour, too."""
    place = placed.series.index(levels)
    return {
        "color": figure_panels.tone(placed, levels),
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 7 - place % 3,
        "markerfacecolor": "none" if place % 2 else figure_panels.tone(placed, levels),
        "linestyle": DASHES[place % len(DASHES)],
        "linewidth": 1.5,
    }


def _line(
    axes: Axes,
    placed: PlacedFigure,
    line_values: Sequence[FigureValue],
    scale: ValueScale,
    places: Mapping[str, float],
) -> None:
    """Draw one line; where it is only a bound it may leave the panel."""
    ordered = sorted(line_values, key=lambda value: places[value.cell.x])
    colour = figure_panels.tone(placed, ordered[0].cell.series)
    xs = [places[value.cell.x] for value in ordered]
    ys = [scale.shown(value.value.value) for value in ordered]
    (line,) = axes.plot(xs, ys, **_look(placed, ordered[0].cell.series))  # type: ignore[arg-type]
    name_marks(line, (figure_panels.value_words(placed, value, scale.form) for value in ordered))
    for x, y, figure_value in zip(xs, ys, ordered, strict=True):
        if figure_value.low is not None and figure_value.high is not None:
            ends = [scale.shown(figure_value.low), scale.shown(figure_value.high)]
            axes.plot([x, x], ends, color=colour, linewidth=1.2, alpha=0.7)
        if placed.stated.points:
            dots = [scale.shown(value) for value in figure_value.trials]
            style = {"markersize": 3.5, "alpha": 0.45, "markeredgewidth": 0}
            axes.plot([x] * len(dots), dots, "o", color=colour, **style)  # type: ignore[arg-type]
        if figure_value.value.beyond or figure_value.timed_out:
            sign = figure_panels.bound_sign(figure_value.value, "^")
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
        if cell.panel == panel:
            for value in figure_panels.published_values(placed, cell.treatment, scale):
                style = {**figure_panels.MARK, "linestyle": "none"}
                axes.plot([places[cell.x]], [value], color=INK, **style)  # type: ignore[arg-type]


def _axes(axes: Axes, placed: PlacedFigure, axis: NumericLevels, columns: int) -> None:
    stated = placed.stated
    log = "x" in stated.log
    if log:
        axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    ordered = sorted(axis.places.values())
    axes.xaxis.set_major_locator(FixedLocator(ordered))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{at:g}" for at in ordered]))
    if _is_narrow(ordered, log=log, room=TICK_ROOM * columns):
        axes.tick_params(axis="x", labelrotation=60, labelsize=7.5)
    axes.grid(axis="y")


def _is_narrow(ordered: Sequence[float], *, log: bool, room: float) -> bool:
    """Whether numbers beside each other would overlap, so that they stand slanted."""
    at = [math.log(one) if log else one for one in ordered]
    span = (at[-1] - at[0]) or 1.0
    return any((high - low) / span < room for low, high in pairwise(at))
