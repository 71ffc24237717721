"""The figures that an experiment declares, drawn, with their captions."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

from httpbed.analysis.figure_values import (
    FigureSamples,
    FigureValue,
    cell_values,
    distributions,
)
from httpbed.analysis.item_spans import item_spans
from httpbed.experiment.figures.placed import PlacedFigure, place
from httpbed.experiment.figures.stated import StatedFigure
from httpbed.experiment.table_problem import TableProblemsError
from httpbed.report.declared import bars, captions, cdf, grid, lines, spans
from httpbed.report.figures import STYLE, Plot
from httpbed.report.phrasing import NumberFormat, title
from httpbed.report.visible_figure import VisibleFigure
from httpbed.store.results import Results

PREFIX = "declared"


@dataclass(frozen=True)
class DeclaredFigures:
    """What the section shows."""

    plots: tuple[Plot, ...]
    undrawn: tuple[str, ...]
    """A sentence for each figure that could not be drawn."""

    def save(self, folder: Path) -> None:
        """Write all pictures."""
        for plot in self.plots:
            plot.save(folder)


class _NothingToDrawError(Exception):
    """A figure has no value; the message says why."""


def make(results: Results) -> DeclaredFigures:
    """Draw the figures of the campaign's experiment."""
    source = FigureSamples(results)
    plots, undrawn = [], []
    with mpl.rc_context(STYLE):
        for stated in results.experiment.figures:
            try:
                plots.append(_plot(results, stated, source))
            except _NothingToDrawError as error:
                undrawn.append(f"{stated.id} is not drawn: {error}.")
    return DeclaredFigures(tuple(plots), tuple(undrawn))


def _plot(results: Results, stated: StatedFigure, source: FigureSamples) -> Plot:
    placed = _placed(results, stated)
    if stated.kind == "spans":
        bars_of_items = item_spans(placed, results)
        _demand(bars_of_items, stated)
        figure, form = spans.draw(placed, bars_of_items)
        text = captions.of_spans(bars_of_items, spans.MOST_ROWS)
        alternative = captions.spans(placed, bars_of_items, form)
    elif stated.kind == "cdf":
        curves = distributions(placed, source)
        _demand(curves, stated)
        figure, form = cdf.draw(placed, curves)
        text = captions.of_curves(placed, curves)
        alternative = captions.curves(placed, curves, form)
    else:
        values = cell_values(placed, source)
        _demand(values, stated)
        if stated.kind == "lines" and len({one.cell.x for one in values}) == 1:
            raise _NothingToDrawError(f"a line needs two levels of {stated.x}, and one has values")
        figure, form = _draw(placed, values)
        text, alternative = captions.of_cells(placed, values), captions.cells(placed, values, form)
    heading = captions.heading(placed, results.experiment.factors)
    return Plot(
        name=f"{PREFIX}-{stated.id}",
        caption=f"{heading} {text}",
        alternative=f"{stated.title}. {alternative}",
        figure=figure,
    )


def _placed(results: Results, stated: StatedFigure) -> PlacedFigure:
    """Place the treatments of the campaign, whose scale may lack some."""
    factors = results.experiment.factors
    named = {*stated.series, *stated.panels, *stated.over, *filter(None, (stated.x, stated.y))}
    if unknown := sorted(named - set(factors)):
        raise _NothingToDrawError(f"the campaign has no factor {', '.join(unknown)}")
    try:
        return place(stated, factors, list(results.experiment.treatments()))
    except TableProblemsError as error:
        scale = results.manifest.get("scale")
        at = f" at scale {scale}" if scale else ""
        raise _NothingToDrawError(f"in this campaign{at} {error}") from None


def _demand(values: Sized, stated: StatedFigure) -> None:
    if not values:
        compared = " with one of its base in the same block" if stated.ratio_to else ""
        length = f" and a {title(stated.length)}" if stated.length else ""
        raise _NothingToDrawError(f"no trial has a {title(stated.metric)}{length}{compared}")


def _draw(
    placed: PlacedFigure, values: Sequence[FigureValue]
) -> tuple[VisibleFigure, NumberFormat]:
    match placed.stated.kind:
        case "bars":
            return bars.draw(placed, values)
        case "lines":
            return lines.draw(placed, values)
        case _:
            return grid.draw(placed, values)
