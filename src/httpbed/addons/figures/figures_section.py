"""The figures that an experiment declares, drawn, with their captions."""

from __future__ import annotations

from collections.abc import Sized

import matplotlib as mpl

from httpbed.addons.figures import bars, cdf, figure_captions, figure_checking, grid, lines, spans
from httpbed.addons.figures.figure_values import (
    FigureSamples,
    cell_values,
    distributions,
    missing,
    not_run,
)
from httpbed.addons.figures.spans import item_spans
from httpbed.addons.figures.stated_figure import PlacedFigure, StatedFigure, place
from httpbed.experiment.document import KeyPath
from httpbed.report.document import Figure, Paragraph, ReportInput, Section, SectionMaker
from httpbed.report.figures import STYLE, Plot
from httpbed.report.phrasing import title
from httpbed.store.results import Results

PREFIX = "declared"


class _NothingToDrawError(Exception):
    """A figure has no value; the message says why."""


def make(results: Results) -> tuple[list[Plot], list[str]]:
    """Draw the figures of the campaign's experiment; return a sentence for each undrawn one."""
    source = FigureSamples(results)
    plots, undrawn = [], []
    with mpl.rc_context(STYLE):
        for stated in results.experiment.figures:
            try:
                plots.append(_plot(results, stated, source))
            except _NothingToDrawError as error:
                undrawn.append(f"{stated.id} is not drawn: {error}.")
    return plots, undrawn


def _section(source: ReportInput) -> Section | None:
    if not source.draws or not source.results.experiment.figures:
        return None
    plots, undrawn = make(source.results)
    return Section("declared", "Figures", (*map(Figure, plots), *map(Paragraph, undrawn)))


SECTION = SectionMaker("figures", 20, _section)


def _plot(results: Results, stated: StatedFigure, source: FigureSamples) -> Plot:
    placed = _placed(results, stated)
    if stated.kind == "spans":
        bars_of_items = item_spans(placed, results)
        _demand(bars_of_items, stated)
        figure, form = spans.draw(placed, bars_of_items)
        text = figure_captions.of_spans(bars_of_items, spans.MAX_ROWS)
        alternative = figure_captions.spans(placed, bars_of_items, form)
    elif stated.kind == "cdf":
        curves, idle = distributions(placed, source), not_run(placed, source)
        _demand(curves, stated)
        figure, form = cdf.draw(placed, curves, idle)
        text = figure_captions.of_curves(placed, curves, idle)
        alternative = figure_captions.curves(placed, curves, form)
    else:
        values = cell_values(placed, source)
        _demand(values, stated)
        if stated.kind == "lines" and len({one.cell.x for one in values}) == 1:
            raise _NothingToDrawError(f"a line needs two levels of {stated.x}, and one has values")
        gaps = missing(placed, values, source)
        figure, form = _KINDS[stated.kind](placed, values, gaps)
        text = figure_captions.of_cells(placed, values, gaps)
        alternative = figure_captions.cells(placed, values, form)
    shared = figure_captions.shared(placed, placed.factors)
    return Plot(
        name=f"{PREFIX}-{stated.id}",
        caption=" ".join(filter(None, (shared, text))),
        alternative=f"{stated.title}. {alternative}",
        figure=figure,
    )


def _placed(results: Results, stated: StatedFigure) -> PlacedFigure:
    """Place the treatments of the whole experiment: what the campaign did not run is marked.

    A campaign of an earlier version may declare a figure that this one does not draw.
    """
    experiment = results.stated_experiment
    treatments = list(experiment.treatments())
    if found := figure_checking.of_figure(stated, experiment.factors, treatments):
        raise _NothingToDrawError("; ".join(f"{_key(one.at)} {one.reason}" for one in found))
    return place(stated, experiment.factors, treatments)


def _key(at: KeyPath) -> str:
    return ".".join(map(str, at))


def _demand(values: Sized, stated: StatedFigure) -> None:
    if not values:
        compared = " with one of its base in the same block" if stated.ratio_to else ""
        length = f" and a {title(stated.length)}" if stated.length else ""
        raise _NothingToDrawError(f"no trial has a {title(stated.metric)}{length}{compared}")


_KINDS = {"bars": bars.draw, "lines": lines.draw, "grid": grid.draw}
