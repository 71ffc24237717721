"""What stands below a declared figure, and what is read to those who do not see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from httpbed.addons.figures.figure_panels import full_level
from httpbed.addons.figures.figure_values import Distribution, FigureValue
from httpbed.addons.figures.spans import ItemSpan
from httpbed.addons.figures.stated_figure import (
    Factors,
    FigurePlace,
    Levels,
    PlacedFigure,
    StatedFigure,
)
from httpbed.addons.pages.report.metrics_table import MEANING_OF_BANDS
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import NumberFormat, listed, title, treatment

MAX_LISTED = 60
"""Values that are read out."""


def shared(placed: PlacedFigure, factors: Factors) -> str:
    """Return the levels that all cells share; empty without any."""
    stated = placed.stated
    levels_of = ", ".join(
        full_level(name, next(iter(levels)))
        for name in factors
        if name not in {*stated.panels, *stated.series, stated.x, stated.y, *stated.ratio_to}
        for levels in [{cell.treatment[name] for cell in placed.cells}]
        if len(levels) == 1
    )
    return f"All at {levels_of}." if levels_of else ""


def of_cells(
    placed: PlacedFigure, values: Sequence[FigureValue], missing: Mapping[FigurePlace, bool]
) -> str:
    """Say what bars, lines and cells show."""
    texts = [*_of_cells(placed, values), _published(placed), *_missing(placed, missing)]
    return " ".join(filter(None, texts))


def _missing(placed: PlacedFigure, missing: Mapping[FigurePlace, bool]) -> Iterator[str]:
    """Count the cells without a value."""
    stated = placed.stated
    absent = len(stated.absent) * len(placed.series) * len(placed.panels)
    cells = len(placed.cells) + absent
    idle = sum(not ran for ran in missing.values()) + absent
    if idle:
        yield f"{idle} of {cells} cells did not run."
    if stated.absent:
        yield f"No trial can run {listed(stated.absent)}."
    if valueless := len(missing) + absent - idle:
        yield f"{valueless} of {cells} cells ran and have no value."


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
        yield f"The dashed lines limit bands. {MEANING_OF_BANDS}"
    late = sum(one.timed_out for one in values)
    if late:
        yield f"{late} trials timed out: means lack them, and a triangle marks their cells."
    elif any(one.value.beyond for one in values) and stated.kind != "grid":
        yield "A triangle marks a value that is only a bound, because trials timed out."


def of_curves(
    placed: PlacedFigure,
    curves: Mapping[tuple[Levels, Levels], Distribution],
    not_run: Mapping[tuple[Levels, Levels], int],
) -> str:
    """Say what distributions show."""
    stated = placed.stated
    if stated.over:
        what = "ratios" if stated.ratio_to else "trials"
        combination = "" if len(stated.over) == 1 else "combination of "
        of = f"the median of the {what}"
        of = "the ratio of both medians" if stated.statistic == "ratio of medians" else of
        each = f"{of} of one {combination}{listed(map(title, stated.over))}"
    else:
        items = "one item of a trial: a file, a resource or a client"
        each = f"that of {items if shows_items(stated) else 'one trial'}"
    parts = [f"Each value is {each}."]
    if any(combination.beyond or combination.below for combination in curves.values()):
        parts.append("Curves that end below 100 %, or begin above 0, have trials that timed out.")
    parts.append(_published(placed))
    if idle := sum(not_run.values()):
        parts.append(f"{idle} of {len(placed.cells)} cells did not run.")
    return " ".join(filter(None, parts))


def of_spans(found: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]], most: int) -> str:
    """Say what spans show."""
    parts = ["A bar goes from the median start to the median end of an item over the trials."]
    names = {one.name for own in found.values() for one in own}
    if len(names) > most:
        parts.append(f"The {most} items that start first are shown, of {len(names)}.")
    return " ".join(parts)


def spans(
    placed: PlacedFigure,
    drawn: Mapping[tuple[Levels, Levels], Sequence[ItemSpan]],
    form: NumberFormat,
) -> str:
    """Tell when the items of each panel and series start and end."""
    stated = placed.stated
    names = [*stated.panels, *stated.series]
    texts = []
    for (panel, series), own in drawn.items():
        where = treatment(dict(zip(names, (*panel, *series), strict=True)), names)
        first, last = (form.number(one.start) for one in (own[0], own[-1]))
        end = form.number(max(one.end for one in own))
        texts.append(f"{where}: starts from {first} to {last}, last end {end} {form.unit}")
    return "; ".join(texts) + "."


def shows_items(stated: StatedFigure) -> bool:
    """Whether every file, resource or client of a trial is one value."""
    return METRICS[stated.metric].per_item


def _published(placed: PlacedFigure) -> str:
    return "Diamonds mark published values." if placed.stated.published else ""


def cells(placed: PlacedFigure, values: Sequence[FigureValue], form: NumberFormat) -> str:
    """Tell the values."""
    texts = [f"{_name(placed, one)}: {form.bounded(one.value)}" for one in values[:MAX_LISTED]]
    more = len(values) - MAX_LISTED
    return "; ".join([*texts, *([f"{more} further values"] if more > 0 else [])]) + "."


def _name(placed: PlacedFigure, one: FigureValue) -> str:
    stated = placed.stated
    names = [name for name in (*stated.panels, *stated.series, stated.x, stated.y) if name]
    return treatment(one.cell.treatment, names)


def curves(
    placed: PlacedFigure,
    drawn: Mapping[tuple[Levels, Levels], Distribution],
    form: NumberFormat,
) -> str:
    """Tell the median of each distribution."""
    stated = placed.stated
    texts = []
    for (panel, series), curve in list(drawn.items())[:MAX_LISTED]:
        names = [*stated.panels, *stated.series]
        where = treatment(dict(zip(names, (*panel, *series), strict=True)), names)
        if curve.values:
            middle = form.number(float(np.median(curve.values)))
            texts.append(f"{where}: median {middle} {form.unit}".rstrip())
    return listed(texts) + "." if texts else "No value is known exactly."
