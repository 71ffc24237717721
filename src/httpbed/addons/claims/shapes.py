"""Mistakes in claims about a knee, about items, and about two distributions."""

from __future__ import annotations

from collections.abc import Iterator

from httpbed.addons.claims.stated import StatedClaim
from httpbed.experiment.factorial_mistakes import listed
from httpbed.experiment.metric import METRICS
from httpbed.experiment.table_problem import TableProblem

SHAPES = ("trend", "knee", "flip")
CENTRES = ("median", "mean")
"""Statistics over the blocks of a shape's values."""


def problems(stated: StatedClaim) -> Iterator[TableProblem]:
    """Find keys that do not go together with a shape, or with the violation of an order."""
    used = [key for key in SHAPES if getattr(stated, key)]
    if len(used) > 1:
        reason = f"{listed(used)} exclude each other"
        yield TableProblem((used[1],), reason, "keep one, or write two claims")
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
            yield TableProblem((key,), reason, 'use share_in, or take = "largest" or "smallest"')
