"""Cumulative distributions: of trials, of items, or of one value for each page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from httpbed.addons.figures import figure_panels
from httpbed.addons.figures.figure_values import Distribution
from httpbed.addons.figures.stated_figure import Levels, PlacedFigure, parse_published
from httpbed.base import units
from httpbed.experiment.factorial import selects
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.svg import DASHES, INK, Dashes, VisibleFigure, name_points

PANEL_IN, ALONE_IN = 1.6, 2.9
COLUMNS = 4
BELOW, ABOVE = 0.8, 1.1
"""Ends of an axis over the least and the largest value, so that small differences look small."""


def draw(
    placed: PlacedFigure,
    curves: Mapping[tuple[Levels, Levels], Distribution],
    not_run: Mapping[tuple[Levels, Levels], int],
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the distributions; also return the format of their values."""
    every = [value for curve in curves.values() for value in curve.values]
    form = figure_panels.value_format(placed, every)
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    empty = [one for one in placed.panels if all(at != one for at, _ in curves)]
    is_ratio = bool(placed.stated.ratio_to)
    shown = figure_panels.panel_grid(
        placed,
        ALONE_IN if len(placed.panels) == 1 else PANEL_IN,
        heading=figure_panels.heading(placed, (curve.n for curve in curves.values())),
        legend=figure_panels.legend_of(placed, signs, has_hatches=bool(empty)),
        most_columns=COLUMNS,
        share=(is_ratio, True),
    )
    for panel, axes in shown.axes.items():
        in_panel = {series: one for (at, series), one in curves.items() if at == panel}
        limits = _limits(placed, curves.values() if is_ratio else in_panel.values(), form)
        _panel(axes, placed, in_panel, form, limits)
        _mark_published(axes, placed, panel, form)
        if panel in empty:
            figure_panels.hatch_all(axes)
        else:
            _name_missing(axes, placed, panel, in_panel, not_run)
        if is_ratio:
            axes.axvline(1.0, color=INK, linewidth=0.9)
        axes.set(ylim=(0, 103), yticks=[0, 25, 50, 75, 100])
        figure_panels.value_axis(axes.xaxis, limits, log=False)
        if panel in empty and not is_ratio:
            figure_panels.without_values(axes.xaxis)
        axes.grid()
    shown.figure.supxlabel(figure_panels.value_text(placed, form), fontsize=9)
    figure_panels.name_vertical_axes(shown.figure, f"{_what(placed)} (%)")
    return shown.figure, form


def _name_missing(
    axes: Axes,
    placed: PlacedFigure,
    panel: Levels,
    curves: Mapping[Levels, Distribution],
    not_run: Mapping[tuple[Levels, Levels], int],
) -> None:
    """Write in a panel which curves it lacks, and how much of a curve did not run."""
    lines = []
    for series in placed.series:
        count = not_run.get((panel, series), 0)
        planned = sum((cell.panel, cell.series) == (panel, series) for cell in placed.cells)
        name = figure_panels.series_name(placed, series)
        if count and series not in curves:
            lines.append(f"{name}: {figure_panels.NOT_RUN}")
        elif count:
            lines += [f"{name}:"] * bool(name) + [f"{count} of {planned} {figure_panels.NOT_RUN}"]
    if lines:
        style: dict[str, Any] = {
            "transform": axes.transAxes,
            "va": "top",
            "fontsize": 7,
            "color": INK,
        }
        axes.text(0.02, 0.94, "\n".join(lines), **style).set_in_layout(False)


def _what(placed: PlacedFigure) -> str:
    stated = placed.stated
    if stated.over:
        return plural(title(stated.over[0])) if len(stated.over) == 1 else "combinations"
    return "items" if stated.shows_items else "trials"


def plural(noun: str) -> str:
    """Return the plural of a factor's title."""
    if noun.endswith("ss"):
        return f"{noun}es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return f"{noun[:-1]}ies"
    return noun if noun.endswith("s") else f"{noun}s"


def _limits(
    placed: PlacedFigure, curves: Iterable[Distribution], form: NumberFormat
) -> tuple[float, float]:
    """Return the ends of an axis that shows these curves, and 1 if they are of ratios."""
    values = [value / form.factor for curve in curves for value in curve.values if value > 0]
    if placed.stated.ratio_to:
        published = (parse_published(value.value, "1") for value in placed.stated.published)
        return 0.0, 1.05 * max([*values, *published, 1.0])
    values = values or [1.0]
    return BELOW * min(values), ABOVE * max(values)


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        color=figure_panels.colour(placed, levels),
        linestyle=_dashes(placed, levels),
        linewidth=1.6,
        label=figure_panels.series_name(placed, levels),
    )


def _dashes(placed: PlacedFigure, levels: Levels) -> Dashes:
    return DASHES[placed.series.index(levels) % len(DASHES)]


def _panel(
    axes: Axes,
    placed: PlacedFigure,
    curves: Mapping[Levels, Distribution],
    form: NumberFormat,
    limits: tuple[float, float],
) -> None:
    start, end = limits
    for series, one in curves.items():
        shares = [100 * (one.below + rank) / one.n for rank in range(len(one.values) + 1)]
        steps = list(zip(one.values, shares[1:], strict=True))
        xs = [start, *(value / form.factor for value in one.values), end]
        axes.step(
            xs,
            [*shares, shares[-1]],
            where="post",
            color=figure_panels.colour(placed, series),
            linestyle=_dashes(placed, series),
            linewidth=1.5,
        )
        name = figure_panels.series_name(placed, series)
        texts = [f"{name}: {y:.3g} % at {form.number(at)} {form.unit}" for at, y in steps]
        name_points(
            axes, [(at / form.factor, y, t) for (at, y), t in zip(steps, texts, strict=True)]
        )


def _mark_published(axes: Axes, placed: PlacedFigure, panel: Levels, form: NumberFormat) -> None:
    """Mark each published share at its value."""
    treatments = [cell.treatment for cell in placed.cells if cell.panel == panel]
    for published in placed.stated.published:
        if published.share and any(selects(published.at, treatment) for treatment in treatments):
            x = parse_published(published.value, placed.stated.unit) / form.factor
            y = 100 * units.parse_share(published.share)
            axes.plot([x], [y], color=INK, linestyle="none", clip_on=False, **figure_panels.MARK)  # type: ignore[arg-type]
