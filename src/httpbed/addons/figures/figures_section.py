"""The figures that an experiment declares, drawn, each with two texts.

The caption stands below it; the alternative is read to those who do not see it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized

import matplotlib as mpl
import numpy as np

from httpbed.addons.figures import bars, cdf, figure_checking, grid, lines, spans
from httpbed.addons.figures.figure_panels import full_level
from httpbed.addons.figures.figure_values import (
    Distribution,
    FigureSamples,
    FigureValue,
    cell_values,
    distributions,
    missing,
    not_run,
)
from httpbed.addons.figures.spans import ItemSpan, item_spans
from httpbed.addons.figures.stated_figure import (
    FigurePlace,
    Levels,
    PlacedFigure,
    StatedFigure,
    place,
)
from httpbed.addons.pages.report.metrics_table import MEANING_OF_BANDS
from httpbed.base.units import format_count
from httpbed.experiment.document import KeyPath
from httpbed.report.document import Figure, Paragraph, ReportInput, Section, SectionMaker
from httpbed.report.phrasing import NumberFormat, listed, title, treatment
from httpbed.report.svg import STYLE, Plot
from httpbed.store.results import Results

PREFIX = "declared"
MAX_LISTED = 60
"""Values that are read out."""


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


def _plot(results: Results, stated: StatedFigure, source: FigureSamples) -> Plot:
    placed = _placed(results, stated)
    if stated.kind == "spans":
        bars_of_items = item_spans(placed, results)
        _demand(bars_of_items, stated)
        figure, form = spans.draw(placed, bars_of_items)
        text = _of_spans(bars_of_items, spans.MAX_ROWS)
        alternative = _spans_alternative(placed, bars_of_items, form)
    elif stated.kind == "cdf":
        curves, idle = distributions(placed, source), not_run(placed, source)
        _demand(curves, stated)
        figure, form = cdf.draw(placed, curves, idle)
        text = _of_curves(placed, curves, idle)
        alternative = _curves_alternative(placed, curves, form)
    else:
        values = cell_values(placed, source)
        _demand(values, stated)
        if stated.kind == "lines" and len({value.cell.x for value in values}) == 1:
            raise _NothingToDrawError(f"a line needs two levels of {stated.x}, and one has values")
        gaps = missing(placed, values, source)
        figure, form = _KINDS[stated.kind](placed, values, gaps)
        text = _of_cells(placed, values, gaps)
        alternative = _cells_alternative(placed, values, form)
    shared = _shared(placed)
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
        raise _NothingToDrawError(
            "; ".join(f"{_key(problem.at)} {problem.reason}" for problem in found)
        )
    return place(stated, experiment.factors, treatments)


def _key(at: KeyPath) -> str:
    return ".".join(map(str, at))


def _demand(values: Sized, stated: StatedFigure) -> None:
    if not values:
        compared = " with one of its base in the same block" if stated.ratio_to else ""
        length = f" and a {title(stated.length)}" if stated.length else ""
        raise _NothingToDrawError(f"no trial has a {title(stated.metric)}{length}{compared}")


def _shared(placed: PlacedFigure) -> str:
    """Return the levels that all cells share; empty without any."""
    stated = placed.stated
    levels_of = ", ".join(
        full_level(name, next(iter(levels)))
        for name in placed.factors
        if name not in {*stated.panels, *stated.series, stated.x, stated.y, *stated.ratio_to}
        for levels in [{cell.treatment[name] for cell in placed.cells}]
        if len(levels) == 1
    )
    return f"All at {levels_of}." if levels_of else ""


def _of_cells(
    placed: PlacedFigure, values: Sequence[FigureValue], gaps: Mapping[FigurePlace, bool]
) -> str:
    """Say what bars, lines and cells show."""
    texts = [*_statistics(placed, values), _published(placed), *_missing_words(placed, gaps)]
    return " ".join(filter(None, texts))


def _missing_words(placed: PlacedFigure, gaps: Mapping[FigurePlace, bool]) -> Iterator[str]:
    """Count the cells without a value."""
    stated = placed.stated
    absent = len(stated.absent) * len(placed.series) * len(placed.panels)
    cells = len(placed.cells) + absent
    idle = sum(not ran for ran in gaps.values()) + absent
    if idle:
        yield f"{idle} of {cells} cells did not run."
    if stated.absent:
        yield f"No trial can run {listed(stated.absent)}."
    if valueless := len(gaps) + absent - idle:
        yield f"{valueless} of {cells} cells ran and have no value."


def _statistics(placed: PlacedFigure, values: Sequence[FigureValue]) -> Iterator[str]:
    stated = placed.stated
    of_medians = stated.statistic == "ratio of medians"
    if stated.kind == "grid":
        what = "ratio of both medians" if of_medians else "pseudo-median of the blocks' ratios"
        yield f"Each number is the {what}, in brackets if the blocks' ratios are within noise."
    elif of_medians:
        yield "Values are ratios of both medians."
    elif stated.ratio_to:
        yield "Values are pseudo-medians of the blocks' ratios with their intervals."
    elif stated.shown_statistic == "mean":
        yield "Values are means over trials with one standard deviation on each side."
    else:
        yield "Values are medians over trials with their intervals."
    if stated.points:
        yield "Each dot is one trial."
    if stated.metric == "speed_index" and not stated.ratio_to and stated.kind == "bars":
        yield f"The dashed lines limit bands. {MEANING_OF_BANDS}"
    yield from _uncertain(values, are_marked=stated.kind != "grid")


def _uncertain(values: Sequence[FigureValue], *, are_marked: bool) -> Iterator[str]:
    """Say which trials means lack, and what marks a value that is not certain."""
    late = sum(value.timed_out for value in values)
    if late:
        yield f"{late} trials timed out: means lack them, and a triangle marks their cells."
    if spoilt := sum(value.spoilt for value in values):
        yield f"{format_count(spoilt, 'trial')} without a valid attempt: means lack them."
    beyond = {value.value.beyond for value in values} if are_marked else set()
    if not late and beyond & {"<", ">"}:
        yield "A triangle marks a value that is only a bound, because trials timed out."
    if "?" in beyond:
        yield "A diamond marks a value that may be lower or higher."


def _of_curves(
    placed: PlacedFigure,
    curves: Mapping[tuple[Levels, Levels], Distribution],
    not_run: Mapping[tuple[Levels, Levels], int],
) -> str:
    stated = placed.stated
    if stated.over:
        what = "ratios" if stated.ratio_to else "trials"
        combination = "" if len(stated.over) == 1 else "combination of "
        of = f"the median of the {what}"
        of = "the ratio of both medians" if stated.statistic == "ratio of medians" else of
        each = f"{of} of one {combination}{listed(map(title, stated.over))}"
    else:
        items = "one item of a trial: a file, a resource or a client"
        each = f"that of {items if stated.shows_items else 'one trial'}"
    parts = [f"Each value is {each}."]
    if any(combination.beyond or combination.below for combination in curves.values()):
        parts.append("Curves that end below 100 %, or begin above 0, have trials that timed out.")
    parts.append(_published(placed))
    if idle := sum(not_run.values()):
        parts.append(f"{idle} of {len(placed.cells)} cells did not run.")
    return " ".join(filter(None, parts))


def _of_spans(found: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]], most: int) -> str:
    parts = ["A bar goes from the median start to the median end of an item over the trials."]
    names = {span.name for own in found.values() for span in own}
    if len(names) > most:
        parts.append(f"The {most} items that start first are shown, of {len(names)}.")
    return " ".join(parts)


def _spans_alternative(
    placed: PlacedFigure,
    drawn: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]],
    form: NumberFormat,
) -> str:
    """Tell when the items of each panel and series start and end."""
    texts = []
    for at, own in drawn.items():
        first, last = (form.number(span.start) for span in (own[0], own[-1]))
        end = form.number(max(span.end for span in own))
        texts.append(
            f"{_where(placed, *at)}: starts from {first} to {last}, last end {end} {form.unit}"
        )
    return "; ".join(texts) + "."


def _published(placed: PlacedFigure) -> str:
    return "Diamonds mark published values." if placed.stated.published else ""


def _cells_alternative(
    placed: PlacedFigure, values: Sequence[FigureValue], form: NumberFormat
) -> str:
    texts = [
        f"{_name(placed, value)}: {form.bounded(value.value)}" for value in values[:MAX_LISTED]
    ]
    more = len(values) - MAX_LISTED
    return "; ".join([*texts, *([f"{more} further values"] if more > 0 else [])]) + "."


def _name(placed: PlacedFigure, one: FigureValue) -> str:
    stated = placed.stated
    names = [name for name in (*stated.panels, *stated.series, stated.x, stated.y) if name]
    return treatment(one.cell.treatment, names)


def _curves_alternative(
    placed: PlacedFigure,
    drawn: Mapping[tuple[Levels, Levels], Distribution],
    form: NumberFormat,
) -> str:
    """Tell the median of each distribution."""
    texts = []
    for at, curve in list(drawn.items())[:MAX_LISTED]:
        if curve.values:
            middle = form.number(float(np.median(curve.values)))
            texts.append(f"{_where(placed, *at)}: median {middle} {form.unit}".rstrip())
    return listed(texts) + "." if texts else "No value is known exactly."


def _where(placed: PlacedFigure, panel: Levels, series: Levels) -> str:
    """Name a curve by the levels of its panel and its series."""
    names = [*placed.stated.panels, *placed.stated.series]
    return treatment(dict(zip(names, (*panel, *series), strict=True)), names)


_KINDS = {"bars": bars.draw, "lines": lines.draw, "grid": grid.draw}
SECTION = SectionMaker("figures", 20, _section)
