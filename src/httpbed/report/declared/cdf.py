"""Cumulative distributions: of trials, of items, or of one value for each page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from httpbed.analysis.figure_values import Distribution
from httpbed.experiment import units
from httpbed.experiment.figures.placed import Levels, PlacedFigure
from httpbed.experiment.selection import selects
from httpbed.report.declared import captions, panels
from httpbed.report.figures import INK
from httpbed.report.pages.progress import DASHES, Dashes
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.visible_figure import VisibleFigure, name_points

PANEL_IN, ALONE_IN = 1.6, 2.9
COLUMNS = 4


def draw(
    placed: PlacedFigure, found: Mapping[tuple[Levels, Levels], Distribution]
) -> tuple[VisibleFigure, NumberFormat]:
    """Draw the distributions; also return the format of their values."""
    every = [value for one in found.values() for value in one.values]
    form = panels.value_format(placed, every)
    signs = {levels: _sign(placed, levels) for levels in placed.series}
    alone = len(placed.panels) == 1
    is_ratio = bool(placed.stated.ratio_to)
    shown = panels.panel_grid(
        placed,
        ALONE_IN if alone else PANEL_IN,
        legend=panels.legend_of(placed, signs),
        most_columns=COLUMNS,
        share=(is_ratio, True),
    )
    log = "x" in placed.stated.log
    for panel, axes in shown.axes.items():
        own = {series: one for (at, series), one in found.items() if at == panel}
        limits = _limits(placed, found.values() if is_ratio else own.values(), form)
        _panel(axes, placed, own, form, limits)
        _mark_published(axes, placed, panel, form)
        if is_ratio:
            axes.axvline(1.0, color=INK, linewidth=0.9)
        axes.set(ylim=(0, 103), yticks=[0, 25, 50, 75, 100])
        panels.value_axis(axes.xaxis, limits, log=log)
        panels.grid_lines(axes, "both")
    shown.figure.supxlabel(
        panels.value_text(placed, form, placed.stated.statistic or ""), fontsize=9
    )
    panels.name_vertical_axes(shown.figure, f"{_what(placed)} (%)")
    return shown.figure, form


def _what(placed: PlacedFigure) -> str:
    stated = placed.stated
    if stated.over:
        return f"{title(stated.over[0])}s" if len(stated.over) == 1 else "combinations"
    if stated.ratio_to:
        return "blocks"
    return "items" if captions.shows_items(stated) else "trials"


def _limits(
    placed: PlacedFigure, curves: Iterable[Distribution], form: NumberFormat
) -> tuple[float, float]:
    """Return the ends of an axis that shows these curves, and 1 if they are of ratios."""
    values = [value / form.factor for one in curves for value in one.values if value > 0]
    published = [
        end / form.factor for one in placed.stated.published for end in panels.ends_of(placed, one)
    ]
    if placed.stated.ratio_to:
        values += [*published, 1.0]
    values = values or [1.0]
    start = 0.9 * min(values) if "x" in placed.stated.log else 0.0
    return start, 1.05 * max(values)


def _sign(placed: PlacedFigure, levels: Levels) -> Line2D:
    return Line2D(
        [],
        [],
        color=panels.colour(placed, levels),
        linestyle=_dashes(placed, levels),
        linewidth=1.6,
        label=panels.series_name(placed, levels),
    )


def _dashes(placed: PlacedFigure, levels: Levels) -> Dashes:
    return DASHES[placed.series.index(levels) % len(DASHES)]


def _panel(
    axes: Axes,
    placed: PlacedFigure,
    own: Mapping[Levels, Distribution],
    form: NumberFormat,
    limits: tuple[float, float],
) -> None:
    start, end = limits
    for series, one in own.items():
        shares = [100 * (one.below + rank) / one.n for rank in range(len(one.values) + 1)]
        steps = list(zip(one.values, shares[1:], strict=True))
        xs = [start, *(value / form.factor for value in one.values), end]
        axes.step(
            xs,
            [*shares, shares[-1]],
            where="post",
            color=panels.colour(placed, series),
            linestyle=_dashes(placed, series),
            linewidth=1.5,
        )
        name = panels.series_name(placed, series)
        texts = [f"{name}: {y:.3g} % at {form.number(at)} {form.unit}" for at, y in steps]
        name_points(
            axes, [(at / form.factor, y, t) for (at, y), t in zip(steps, texts, strict=True)]
        )


def _mark_published(axes: Axes, placed: PlacedFigure, panel: Levels, form: NumberFormat) -> None:
    """Mark a share at its value, or a value alone as a line from bottom to top."""
    treatments = [cell.treatment for cell in placed.cells if cell.panel == panel]
    for published in placed.stated.published:
        if not any(selects(published.at, one) for one in treatments):
            continue
        for end in dict.fromkeys(panels.ends_of(placed, published)):
            x = end / form.factor
            if published.share is None:
                axes.axvline(x, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
                share = 50.0
            else:
                share = 100 * units.parse_share(published.share)
            axes.plot([x], [share], color=INK, linestyle="none", **panels.MARK)  # type: ignore[arg-type]
