"""Keys of a claim that do not go together, and names that do not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from httpbed.addons.claims.cell_builder import ClaimDesign
from httpbed.addons.claims.stated_claim import OtherCells, StatedClaim
from httpbed.base.errors import first_names
from httpbed.experiment.document import KeyPath
from httpbed.experiment.factorial import Selection
from httpbed.experiment.factorial_mistakes import unknown_factor
from httpbed.experiment.metric import METRICS
from httpbed.experiment.stated_tables import TableProblem, unknown_names

STATISTICS_OVER_CELLS = ("share_in", "count_in", "take", "rank_of")


def of_keys(stated: StatedClaim) -> Iterator[TableProblem]:
    """Find every key that is missing or does not apply."""
    yield from _metric(stated)
    yield from _statistics(stated)
    yield from _contrasts(stated)
    yield from _shape_problems(stated)


def of_names(stated: StatedClaim, design: ClaimDesign) -> Iterator[TableProblem]:
    """Find every name that is unknown, and other cells that are the claim's own."""
    yield from _names(stated, design)
    for at, other in _others(stated):
        if known := design.of(other.experiment):
            yield from _other_names(stated, at, other, known)


def unknown_experiments(stated: StatedClaim, design: ClaimDesign) -> Iterator[str]:
    """Yield the names of experiments that a claim needs and whose designs are unknown."""
    for _, other in _others(stated):
        if other.experiment and design.of(other.experiment) is None:
            yield other.experiment


def _others(stated: StatedClaim) -> Iterator[tuple[KeyPath, OtherCells]]:
    if stated.minus_other:
        yield ("minus_other",), stated.minus_other
    if stated.trend and stated.trend.other:
        yield ("trend", "other"), stated.trend.other


def _other_names(
    stated: StatedClaim, path: KeyPath, other: OtherCells, design: ClaimDesign
) -> Iterator[TableProblem]:
    """Find names that the other cells' experiment does not have."""
    if other == OtherCells():
        yield TableProblem(path, "selects the claim's own cells", "name what differs in where")
    copy = stated.of_other(other).model_copy(update={"rank_of": {}})
    if path[0] == "trend":
        copy = copy.model_copy(update={"trend": None, "over": stated.trend.across})  # type: ignore[union-attr]
    for problem in _names(copy, design):
        yield TableProblem((*path, *problem.at), problem.reason, problem.remedy)


def _metric(stated: StatedClaim) -> Iterator[TableProblem]:
    if stated.expect is None:
        yield TableProblem(("expect",), "is missing", 'write a region such as "< 1"')
    if stated.estimate == "success":
        if stated.metric:
            yield TableProblem(("metric",), "does not apply to success", "delete it")
        return
    if stated.metric is None:
        yield TableProblem(("metric",), "is missing", "name the metric that the claim is about")
        return
    metric = METRICS[stated.metric]
    if metric.per_item and stated.items is None and not stated.flip:
        reason = f"{stated.metric} has a value for each item and none for the trial"
        yield TableProblem(("items",), reason, 'choose a statistic, such as items = "median"')
    if stated.items and not metric.per_item:
        reason = f"{stated.metric} has one value for each trial, so there are no items"
        yield TableProblem(("items",), reason, "delete it")
    if metric.better == "neither" and any(contrast.by == "gain" for contrast in stated.compare):
        reason = f"neither direction of {stated.metric} is an improvement, so there is no gain"
        yield TableProblem(("compare",), reason, 'use by = "ratio"')


def _statistics(stated: StatedClaim) -> Iterator[TableProblem]:
    used = [key for key in STATISTICS_OVER_CELLS if getattr(stated, key)]
    yield from _exclusive(used)
    if used and not stated.over:
        yield TableProblem((used[0],), "needs cells", "name the factors of the cells in over")
    if stated.minus and not used:
        reason = "subtracts a statistic over cells, and there is none"
        yield TableProblem(("minus",), reason, "use compare to subtract within blocks")
    if stated.minus and stated.rank_of:
        yield TableProblem(("minus",), "does not apply to ranks", "delete it")
    yield from _minus_other(stated)
    yield from _trend(stated)


def _exclusive(used: Sequence[str]) -> Iterator[TableProblem]:
    if len(used) > 1:
        reason = f"{first_names(used)} exclude each other"
        yield TableProblem((used[1],), reason, "keep one, or write two claims")


def _minus_other(stated: StatedClaim) -> Iterator[TableProblem]:
    if stated.minus_other is None:
        return
    path = ("minus_other",)
    if not (stated.share_in or stated.take):
        reason = "subtracts a share, or the largest or spread of cells"
        yield TableProblem(path, reason, 'write share_in or take, such as take = "largest"')
    if stated.minus:
        yield TableProblem(path, "excludes minus", "keep one, or write two claims")
    if stated.trend and stated.trend.other:
        yield TableProblem(path, "excludes trend.other", "keep one, or write two claims")


def _trend(stated: StatedClaim) -> Iterator[TableProblem]:
    trend = stated.trend
    if trend is None:
        return
    kinds = [trend.factor, trend.metric, trend.other]
    if sum(kind is not None for kind in kinds) != 1:
        reason = "needs one of factor, metric and other"
        yield TableProblem(("trend",), reason, "keep one of them")
    elif (trend.factor is None) != bool(trend.across):
        reason = f"{'metric' if trend.metric else 'other'} and across belong together"
        yield TableProblem(("trend",), reason, "name the factors of the points in across")
    if trend.other and trend.other.over is not None:
        reason = "does not apply to a trend, whose points are in across"
        yield TableProblem(("trend", "other", "over"), reason, "delete it")


def _contrasts(stated: StatedClaim) -> Iterator[TableProblem]:
    for index, contrast in enumerate(stated.compare):
        of, to = ({**stated.where, **side} for side in (contrast.of, contrast.to))
        if of == to:
            reason = "of and to select the same treatments"
            yield TableProblem(("compare", index), reason, "name what differs")
    if stated.estimate == "success" and (stated.compare or stated.trend):
        reason = "success is a share of trials; it cannot be compared within blocks"
        yield TableProblem(("compare",), reason, "write a claim for each share")
    if stated.estimate == "variation":
        if len(stated.compare) > 1 or any(one.by == "difference" for one in stated.compare):
            reason = "variation can be compared by one ratio or gain"
            yield TableProblem(("compare",), reason, 'use by = "ratio"')
        if stated.trend:
            yield TableProblem(("trend",), "does not apply to variation", "delete it")


def _names(stated: StatedClaim, design: ClaimDesign) -> Iterator[TableProblem]:
    for path, selection in _selections(stated):
        yield from unknown_names(path, selection, design.factors)
    names: list[tuple[KeyPath, str]] = [
        (("over", index), name) for index, name in enumerate(stated.over)
    ]
    names += [(("knee", "factor"), stated.knee.factor)] if stated.knee else []
    if stated.trend:
        across = enumerate(stated.trend.across)
        names += [(("trend", "across", index), name) for index, name in across]
        names += [(("trend", "factor"), stated.trend.factor)] if stated.trend.factor else []
    for path, name in names:
        if name not in design.factors:
            yield TableProblem(path, unknown_factor(name, design.factors))
    compared = {
        name for contrast in stated.compare for side in (contrast.of, contrast.to) for name in side
    }
    for path, name in names:
        if name in compared:
            reason = f"{name} is also compared"
            yield TableProblem(path, reason, "remove it from here or from compare")


def _selections(stated: StatedClaim) -> Iterator[tuple[KeyPath, Selection]]:
    yield ("where",), stated.where
    yield ("minus",), stated.minus
    yield ("rank_of",), stated.rank_of
    for index, contrast in enumerate(stated.compare):
        yield ("compare", index, "of"), contrast.of
        yield ("compare", index, "to"), contrast.to


SHAPES = ("trend", "knee", "flip")
CENTRES = ("median", "mean")
"""Statistics over the blocks of a shape's values."""


def _shape_problems(stated: StatedClaim) -> Iterator[TableProblem]:
    """Find keys that do not go together with a shape, or with the violation of an order."""
    used = [key for key in SHAPES if getattr(stated, key)]
    yield from _exclusive(used)
    for key in used:
        if key != "trend" and stated.estimate not in CENTRES:
            reason = f"does not apply to {stated.estimate}"
            yield TableProblem((key,), reason, 'use estimate = "median" or "mean"')
    if stated.flip:
        yield from _flip(stated, stated.flip)
    if stated.estimate == "violation":
        yield from _violation(stated)
    if stated.estimate == "correlation" and not stated.trend:
        reason = "correlation needs the points of a trend"
        yield TableProblem(("estimate",), reason, "write trend = { metric or other, across }")
    yield from _of_trials(stated)


def _flip(stated: StatedClaim, higher: str) -> Iterator[TableProblem]:
    if stated.metric == higher:
        yield TableProblem(("flip",), "is the claim's own metric", "name the other metric")
    for key, name in (("metric", stated.metric), ("flip", higher)):
        if name and not METRICS[name].per_item:
            reason = f"{name} has one value for each trial, so there are no items to compare"
            yield TableProblem((key,), reason, "name a metric of single files or resources")
    if stated.items:
        reason = "does not apply to a flip, which compares every item"
        yield TableProblem(("items",), reason, "delete it")
    yield from _one_contrast(stated, "a flip")


def _violation(stated: StatedClaim) -> Iterator[TableProblem]:
    if stated.trend:
        yield TableProblem(("trend",), "does not apply to violation", "delete it")
    if stated.metric and METRICS[stated.metric].better == "neither":
        reason = f"neither direction of {stated.metric} is better, so there is no order to violate"
        yield TableProblem(("metric",), reason, "name another metric")
    yield from _one_contrast(stated, "violation")


def _one_contrast(stated: StatedClaim, what: str) -> Iterator[TableProblem]:
    if len(stated.compare) != 1:
        reason = f"{what} compares two treatments, and there are {len(stated.compare)} contrasts"
        yield TableProblem(("compare",), reason, "write compare = { of = ..., to = ... }")
    elif stated.compare[0].by != "ratio":
        reason = f"does not apply to {what}, which compares the treatments in its own way"
        yield TableProblem(("compare", 0, "by"), reason, "delete it")


def _of_trials(stated: StatedClaim) -> Iterator[TableProblem]:
    """Find statistics that compare cells within blocks, where a cell has no values of blocks."""
    if stated.estimate not in {"success", "violation", "correlation"}:
        return
    for key, used in (("rank_of", stated.rank_of), ("take", stated.take == "spread")):
        if used:
            reason = f"compares cells within blocks; {stated.estimate} has no values of blocks"
            yield TableProblem((key,), reason, 'use share_in, or take = "largest"')
