"""Every mistake in the figures of an experiment, each at its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from httpbed.addons.figures.stated_figure import (
    Factors,
    PlacedFigure,
    StatedFigure,
    parse_published,
    place,
)
from httpbed.base import units
from httpbed.base.errors import RejectedValueError
from httpbed.experiment.document import KeyPath
from httpbed.experiment.factorial import numeric_levels, selects
from httpbed.experiment.factorial_mistakes import unknown_factor
from httpbed.experiment.metric import METRICS
from httpbed.experiment.stated_tables import (
    StatedTable,
    StatedTables,
    TableProblem,
    TableProblemsError,
    in_tables,
    unknown_names,
)

MAX_SERIES, MAX_PANELS, MAX_ON_AXIS = 7, 60, 60
"""Colours that readers tell apart, and what a page holds."""
_EVERY_KIND = {"id", "title", "source", "kind", "metric", "where", "panels", "names"}
_KEYS: Mapping[str, set[str]] = {
    "bars": _EVERY_KIND | {"x", "series", "absent", "ratio_to", "statistic", "published"},
    "lines": _EVERY_KIND | {"x", "series", "statistic", "points", "log", "published"},
    "grid": _EVERY_KIND | {"x", "y", "ratio_to", "statistic"},
    "cdf": _EVERY_KIND | {"series", "over", "ratio_to", "statistic", "published"},
    "spans": _EVERY_KIND | {"series", "length"},
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "bars": ("x",),
    "lines": ("x",),
    "grid": ("x", "y", "ratio_to"),
    "cdf": (),
    "spans": ("length",),
}
_REMEDIES = {"ratio_to": "name the base's levels", "length": "name the metric of the lengths"}


def of_figure(
    stated: StatedFigure, factors: Factors, treatments: Sequence[Mapping[str, str]]
) -> list[TableProblem]:
    """Return what is wrong with a figure; its cells are examined if its names are known."""
    mistakes = [*_keys(stated), *_metric(stated)]
    unknown = [*_unknown(stated, factors), *_repeated(stated)]
    published = list(_published_texts(stated))
    if any(problem.at[0] in {"x", "y", "ratio_to", "over"} for problem in mistakes) or unknown:
        return [*mistakes, *unknown, *published]
    try:
        placed = place(stated, factors, treatments)
    except TableProblemsError as error:
        return [*mistakes, *published, *error.problems]
    return [*mistakes, *published, *_sizes(placed), *_axis(placed), *_published_places(placed)]


def _keys(stated: StatedFigure) -> Iterator[TableProblem]:
    for key in sorted(stated.model_fields_set - _KEYS[stated.kind]):
        reason = f"does not apply to a figure of kind {stated.kind!r}"
        yield TableProblem((key,), reason, "delete it")
    for key in _NEEDED[stated.kind]:
        if not getattr(stated, key):
            remedy = _REMEDIES.get(key, "name a factor")
            yield TableProblem((key,), f"is missing in a figure of kind {stated.kind!r}", remedy)
    if stated.kind == "cdf" and stated.ratio_to and not stated.over:
        reason = "is missing in a CDF of ratios"
        yield TableProblem(("over",), reason, "name the factors whose levels have a ratio each")
    if stated.statistic == "mean" and (stated.ratio_to or stated.kind == "cdf"):
        what = "a ratio" if stated.ratio_to else "a value of a CDF"
        yield TableProblem(("statistic",), f"{what} is no mean", 'use "median"')
    if stated.statistic == "ratio of medians" and not stated.ratio_to:
        yield TableProblem(("statistic",), "needs a base", "name its levels in ratio_to")
    if stated.statistic and stated.kind == "cdf" and not stated.over:
        reason = "applies to a CDF with over; here each trial or item is a value"
        yield TableProblem(("statistic",), reason, "delete it")


def _metric(stated: StatedFigure) -> Iterator[TableProblem]:
    per_item = METRICS[stated.metric].per_item
    if stated.kind == "spans":
        yield from _spans(stated)
        return
    if per_item and (stated.kind != "cdf" or stated.over):
        reason = f"{stated.metric} has a value for each item and none for the trial"
        yield TableProblem(("metric",), reason, "draw a CDF without over, or name another metric")


def _spans(stated: StatedFigure) -> Iterator[TableProblem]:
    for key, name in (("metric", stated.metric), ("length", stated.length)):
        if name and not METRICS[name].per_item:
            reason = f"{name} has one value for each trial, so there are no items to draw"
            yield TableProblem((key,), reason, "name a metric of single files or resources")
    if stated.length and METRICS[stated.length].unit != METRICS[stated.metric].unit:
        reason = f"{stated.length} and {stated.metric} have different units"
        yield TableProblem(("length",), reason, "name a metric with the unit of the starts")


def _unknown(stated: StatedFigure, factors: Factors) -> Iterator[TableProblem]:
    several = len(stated.where) > 1
    for index, one in enumerate(stated.where):
        yield from unknown_names(("where", index) if several else ("where",), one, factors)
    yield from unknown_names(("ratio_to",), stated.ratio_to, factors)
    for name, levels in stated.ratio_to.items():
        if len(levels) > 1:
            reason = f"names {len(levels)} levels; a base has one"
            yield TableProblem(("ratio_to", name), reason, "keep one of them")
    for index, published in enumerate(stated.published):
        yield from unknown_names(("published", index, "at"), published.at, factors)
    for at, name in _roles(stated):
        if name not in factors:
            yield TableProblem(at, unknown_factor(name, factors))
    known = {*stated.absent, *(level for levels in factors.values() for level in levels)}
    for level in sorted(stated.names.keys() - known):
        yield TableProblem(("names", level), "is no level of any factor", "delete it")


def _roles(stated: StatedFigure) -> list[tuple[KeyPath, str]]:
    """Return the place of each factor that the figure arranges, of keys that apply."""
    named = [((key,), getattr(stated, key)) for key in ("x", "y")]
    roles: list[tuple[KeyPath, str]] = [
        *((at, name) for at, name in named if name),
        *(
            ((key, index), name)
            for key in ("series", "panels", "over")
            for index, name in enumerate(getattr(stated, key))
        ),
    ]
    return [(at, name) for at, name in roles if at[0] in _KEYS[stated.kind]]


def _repeated(stated: StatedFigure) -> Iterator[TableProblem]:
    first: dict[str, KeyPath] = {}
    for at, name in _roles(stated):
        if first.setdefault(name, at) != at:
            reason = f"{name} is already in {first[name][0]}"
            yield TableProblem(at, reason, "name each factor once")


def _sizes(placed: PlacedFigure) -> Iterator[TableProblem]:
    """Find what no reader could tell apart."""
    stated = placed.stated
    parts: tuple[tuple[str, int, int], ...] = (
        ("series", len(placed.series), MAX_SERIES),
        ("panels", len(placed.panels), MAX_PANELS),
        ("x", len(placed.columns), MAX_ON_AXIS),
        ("y", len(placed.rows), MAX_ON_AXIS),
    )
    for key, count, most in parts:
        if count > most and getattr(stated, key):
            reason = f"has {count} levels to draw; the limit is {most}"
            yield TableProblem((key,), reason, "choose levels in where, or declare two figures")


def _axis(placed: PlacedFigure) -> Iterator[TableProblem]:
    stated = placed.stated
    for index, level in enumerate(stated.absent):
        if level in placed.columns:
            reason = f"{level!r} is a level of {stated.x}, so it can run"
            yield TableProblem(("absent", index), reason, "delete it")
    if stated.kind != "lines":
        return
    numbers = numeric_levels(placed.columns)
    if numbers is None:
        reason = f"the levels of {stated.x} are not numbers of one kind"
        yield TableProblem(("x",), reason, 'use kind = "bars"')
    elif "x" in stated.log and min(numbers.places.values()) <= 0:
        level = min(numbers.places, key=lambda text: numbers.places[text])
        reason = f"a logarithmic axis has no place for {level!r} of {stated.x}"
        remedy = "choose the other levels in where, or delete log"
        yield TableProblem(("log",), reason, remedy)


def _published_texts(stated: StatedFigure) -> Iterator[TableProblem]:
    for index, published in enumerate(stated.published):
        try:
            parse_published(published.value, stated.unit)
        except RejectedValueError as error:
            yield TableProblem(("published", index, "value"), error.reason, error.remedy)
        if published.share is None:
            if stated.kind == "cdf":
                reason = "is missing in a figure of kind 'cdf'"
                yield TableProblem(("published", index, "share"), reason, "write it like '90 %'")
            continue
        if stated.kind != "cdf":
            reason = f"does not apply to a figure of kind {stated.kind!r}"
            yield TableProblem(("published", index, "share"), reason, "delete it")
        try:
            units.parse_share(published.share)
        except RejectedValueError as error:
            yield TableProblem(("published", index, "share"), error.reason, error.remedy)


def _published_places(placed: PlacedFigure) -> Iterator[TableProblem]:
    treatments: Iterable[Mapping[str, str]] = [cell.treatment for cell in placed.cells]
    for index, published in enumerate(placed.stated.published):
        if not any(selects(published.at, treatment) for treatment in treatments):
            reason = "the figure has no cell with these levels"
            yield TableProblem(("published", index, "at"), reason, "name levels that it draws")


def _stated_problems(stated: StatedTables) -> Iterator[tuple[KeyPath, TableProblem]]:
    return in_tables(
        TABLE.name,
        stated.tables,
        lambda figure: of_figure(figure, stated.factors, stated.treatments),
    )


TABLE = StatedTable(
    "figure",
    "figures",
    StatedFigure,
    100,
    "Figures that the report draws. They change nothing that runs.",
    _stated_problems,
)
