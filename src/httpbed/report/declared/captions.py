"""What stands below a declared figure, and what is read to those who do not see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from httpbed.analysis.figure_values import Distribution, FigureValue
from httpbed.analysis.item_spans import ItemSpan
from httpbed.experiment.figures.placed import Factors, Levels, PlacedFigure
from httpbed.experiment.figures.stated import StatedFigure
from httpbed.experiment.metric import METRICS
from httpbed.report.declared.panels import full_level
from httpbed.report.pages import bands
from httpbed.report.phrasing import NumberFormat, listed, title, treatment

MOST_LISTED = 60
"""Values that are read out."""


def heading(placed: PlacedFigure, factors: Factors) -> str:
    """Return the title, the figure that it redraws, and the levels that all cells share."""
    stated = placed.stated
    source = f" ({stated.source})" if stated.source else ""
    shared = ", ".join(
        full_level(name, next(iter(levels)))
        for name in factors
        if name not in {*stated.panels, *stated.series, stated.x, stated.y, *stated.ratio_to}
        for levels in [{cell.treatment[name] for cell in placed.cells}]
        if len(levels) == 1
    )
    text = f"{stated.title.rstrip('.')}{source}."
    return f"{text} All at {shared}." if shared else text


def of_cells(placed: PlacedFigure, values: Sequence[FigureValue]) -> str:
    """Say what bars, lines and cells show."""
    return " ".join(filter(None, _of_cells(placed, values)))


def _of_cells(placed: PlacedFigure, values: Sequence[FigureValue]) -> Iterator[str]:
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
        yield f"The dashed lines limit bands. {bands.MEANING}"
    counts = {one.n for one in values}
    yield f"n = {_span(counts)}."
    late = sum(one.timed_out for one in values)
    if late:
        yield f"{late} trials timed out: means lack them, and a triangle marks their cells."
    elif any(one.value.beyond for one in values) and stated.kind != "grid":
        yield "A triangle marks a value that is only a bound, because trials timed out."
    yield _published(placed)
    missing = len(placed.cells) - len(values)
    if missing:
        yield f"{missing} of {len(placed.cells)} cells have no value."


def of_curves(placed: PlacedFigure, found: Mapping[tuple[Levels, Levels], Distribution]) -> str:
    """Say what distributions show."""
    stated = placed.stated
    if stated.over:
        what = "ratios" if stated.ratio_to else "trials"
        one = "" if len(stated.over) == 1 else "combination of "
        of = f"the median of the {what}"
        of = "the ratio of both medians" if stated.statistic == "ratio of medians" else of
        each = f"{of} of one {one}{listed(map(title, stated.over))}"
    elif stated.ratio_to:
        each = "the ratio of one block"
    else:
        items = "one item of a trial: a file, a resource or a client"
        each = f"that of {items if shows_items(stated) else 'one trial'}"
    parts = [f"Each value is {each}; n = {_span({one.n for one in found.values()})}."]
    if any(one.beyond or one.below for one in found.values()):
        parts.append("Curves that end below 100 %, or begin above 0, have trials that timed out.")
    parts.append(_published(placed))
    return " ".join(filter(None, parts))


def of_spans(found: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]], most: int) -> str:
    """Say what spans show."""
    counts = {one.trials for own in found.values() for one in own}
    parts = ["A bar goes from the median start to the median end of an item over the trials."]
    parts.append(f"n = {_span(counts)}.")
    names = {one.name for own in found.values() for one in own}
    if len(names) > most:
        parts.append(f"The {most} items that start first are shown, of {len(names)}.")
    return " ".join(parts)


def spans(
    placed: PlacedFigure,
    found: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]],
    form: NumberFormat,
) -> str:
    """Tell when the items of each panel and series start and end."""
    stated = placed.stated
    names = [*stated.panels, *stated.series]
    texts = []
    for (panel, series), own in found.items():
        where = treatment(dict(zip(names, (*panel, *series), strict=True)), names)
        first, last = (form.number(one.start) for one in (own[0], own[-1]))
        end = form.number(max(one.end for one in own))
        texts.append(f"{where}: starts from {first} to {last}, last end {end} {form.unit}")
    return "; ".join(texts) + "."


def shows_items(stated: StatedFigure) -> bool:
    """Whether every file, resource or client of a trial is one value."""
    return METRICS[stated.metric].per_item and stated.items is None


def _published(placed: PlacedFigure) -> str:
    return "Diamonds mark published values." if placed.stated.published else ""


def _span(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def cells(placed: PlacedFigure, values: Sequence[FigureValue], form: NumberFormat) -> str:
    """Tell the values."""
    texts = [f"{_name(placed, one)}: {form.bounded(one.value)}" for one in values[:MOST_LISTED]]
    more = len(values) - MOST_LISTED
    return "; ".join([*texts, *([f"{more} further values"] if more > 0 else [])]) + "."


def _name(placed: PlacedFigure, one: FigureValue) -> str:
    stated = placed.stated
    names = [name for name in (*stated.panels, *stated.series, stated.x, stated.y) if name]
    return treatment(one.cell.treatment, names)


def curves(
    placed: PlacedFigure,
    found: Mapping[tuple[Levels, Levels], Distribution],
    form: NumberFormat,
) -> str:
    """Tell the median of each distribution."""
    stated = placed.stated
    texts = []
    for (panel, series), one in list(found.items())[:MOST_LISTED]:
        names = [*stated.panels, *stated.series]
        where = treatment(dict(zip(names, (*panel, *series), strict=True)), names)
        if one.values:
            middle = form.number(float(np.median(one.values)))
            texts.append(f"{where}: median {middle} {form.unit}".rstrip())
    return listed(texts) + "." if texts else "No value is known exactly."
