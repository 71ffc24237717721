"""The verdict of a claim: where the interval of its estimate lies.

One rule: the interval lies inside the region: **reproduced**. It does not meet the region:
**contradicted**. Otherwise: **inconclusive**, with the number of blocks that would settle it.

Each end of the interval fails with probability 2.5 %, so the interval covers 95 %, and a claim at
the very edge of its region gets a wrong verdict in one case of 40. Five blocks cannot reach 2.5 %;
the ends then fail with the smallest probability that the number of blocks permits, at most 5 %.
Fewer than five blocks give no verdict on a single cell. Several intervals that a verdict needs at
once share these probabilities (Bonferroni), which takes more blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from httpbed.analysis.claims.cells import CellLocation
from httpbed.analysis.claims.counting import false_hypotheses, some_false
from httpbed.analysis.location import NoIntervalError
from httpbed.analysis.sample import Bounded
from httpbed.experiment.claims.region import Region

ClaimVerdict = Literal["reproduced", "contradicted", "inconclusive", "not judged"]

SIDE = 0.025
"""Probability with which each end of an interval fails."""
WORST_SIDE = 0.05
"""The same, where few blocks permit no smaller one."""
LEAST_BLOCKS = 5
"""Of a single cell, and of cells whose intervals assume a distribution."""
LEAST_OF_MANY = 2
"""Of each of several cells whose p-values are exact: together they may differ clearly."""
MOST_BLOCKS = 1_000
"""More blocks are not within reason."""
STEPS = 60
"""Halvings in the search for an end."""


@dataclass(frozen=True)
class ClaimEstimate:
    """An estimate with its interval, in the unit of the claim's region."""

    value: Bounded
    low: float
    """-inf if the data leave this end open."""
    high: float
    """inf if the data leave this end open."""
    coverage: float
    blocks: tuple[int, int]
    """The smallest and the largest number of blocks of a cell."""
    cells: int
    """Number of cells that the claim is about."""
    judged_cells: int
    """Number of those with enough values to be judged; the others count as missing."""
    is_constant: bool
    """Whether all blocks of some cell have the same value."""
    unit: str
    """A metric's unit, ``1``, or ``cells``."""


class Bracket(NamedTuple):
    """A statistic over cells, with bounds on it."""

    value: Bounded
    low: float
    high: float


def least_blocks(cells: Sequence[CellLocation]) -> int:
    """Return the number of blocks that each of some cells needs."""
    is_exact = all(cell.least_p > 0 for cell in cells)
    return LEAST_OF_MANY if len(cells) > 1 and is_exact else LEAST_BLOCKS


def side_of(cells: Sequence[CellLocation], parts: int = 1) -> float:
    """Return the probability with which each end may fail, if so many intervals share it.

    Together they fail with :data:`WORST_SIDE` at most. A cell with too few blocks for its part of
    that has open ends.

    Raises:
        NoIntervalError: A cell has too few blocks.
    """
    fewest, least = min(cell.n for cell in cells), least_blocks(cells)
    if fewest < least:
        blocks = "block" if fewest == 1 else "blocks"
        raise NoIntervalError(f"n = {fewest} {blocks}; a verdict needs at least {least}")
    return _shared(max(cell.least_p for cell in cells), parts)


def own_side(cell: CellLocation) -> float:
    """Return the probability with which each end of a cell's own interval may fail."""
    return _shared(cell.least_p, 1)


def _shared(least_p: float, parts: int) -> float:
    """Return the part of the error rate that each of so many intervals gets."""
    return min(WORST_SIDE, max(SIDE, least_p * parts)) / parts


def rule(estimate: ClaimEstimate, region: Region) -> ClaimVerdict:
    """Return the verdict of an estimate."""
    if region.contains_all(estimate.low, estimate.high):
        return "reproduced"
    return "inconclusive" if region.meets(estimate.low, estimate.high) else "contradicted"


def counted(
    cells: Sequence[CellLocation], inner: Region, missing: int, side: float, *, independent: bool
) -> Bracket:
    """Count the cells whose value lies in a region: the number, and bounds on it.

    A missing cell may lie in the region or not.
    """
    inside = np.array([cell.p_inside(inner) for cell in cells])
    outside = np.array([cell.p_outside(inner) for cell in cells])
    value = sum(inner.contains(cell.value.value) for cell in cells)
    low = false_hypotheses(inside, side, independent=independent)
    high = len(cells) + missing - false_hypotheses(outside, side, independent=independent)
    return Bracket(Bounded(float(value)), float(low), float(high))


def largest(
    cells: Sequence[CellLocation], missing: int, side: float, *, independent: bool
) -> Bracket:
    """Return the largest value of the cells, and bounds on it.

    It is above c if at least one cell is above c, and below c if all are below c.
    """
    value = max((cell.value for cell in cells), key=lambda one: one.value)
    high = max(cell.high(side) for cell in cells) if not missing else math.inf

    def is_above(c: float) -> bool:
        p_values = np.array([cell.p_above(c) for cell in cells])
        return some_false(p_values, independent=independent) <= side

    return Bracket(value, _edge(is_above, cells, side), high)


def smallest(
    cells: Sequence[CellLocation], missing: int, side: float, *, independent: bool
) -> Bracket:
    """Return the smallest value of the cells, and bounds on it."""
    value = min((cell.value for cell in cells), key=lambda one: one.value)
    low = min(cell.low(side) for cell in cells) if not missing else -math.inf

    def is_not_below(c: float) -> bool:
        p_values = np.array([cell.p_below(c) for cell in cells])
        return some_false(p_values, independent=independent) > side

    return Bracket(value, low, _edge(is_not_below, cells, side))


def _edge(holds: Callable[[float], bool], cells: Sequence[CellLocation], side: float) -> float:
    """Return where a property of c, which holds for small c, ends; infinite if nowhere."""
    sides = [max(side, cell.least_p) for cell in cells]  # a cell with few blocks has an open end
    ends = [
        end
        for one, cell in zip(sides, cells, strict=True)
        for end in (cell.low(one), cell.high(one))
    ]
    finite = [end for end in ends if math.isfinite(end)]
    low, high = min(finite, default=0.0) - 1e-9, max(finite, default=0.0) + 1e-9
    if not holds(low):
        return -math.inf
    if holds(high):
        return math.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def blocks_to_settle_cells(
    cells: Sequence[CellLocation], region: Region, side: float
) -> int | None:
    """Return about how many blocks would settle on which side of a region's edge each cell lies."""
    undecided = [
        _blocks(Bracket(cell.value, cell.low(side), cell.high(side)), cell.n, region)
        for cell in cells
        if min(cell.p_inside(region), cell.p_outside(region)) > side
    ]
    return None if None in undecided else max((one for one in undecided if one), default=None)


def blocks_to_settle(estimate: ClaimEstimate, region: Region) -> int | None:
    """Return about how many blocks would settle an inconclusive estimate.

    The distances of the interval's ends shrink with the root of the number of blocks. None if that
    takes more than ``MOST_BLOCKS``, or if the interval has an open end.
    """
    bracket = Bracket(estimate.value, estimate.low, estimate.high)
    return _blocks(bracket, estimate.blocks[0], region)


def _blocks(estimate: Bracket, n: int, region: Region) -> int | None:
    value = estimate.value.value
    below, above = value - estimate.low, estimate.high - value
    if estimate.value.beyond or not math.isfinite(below) or not math.isfinite(above):
        return None
    if region.contains(value):
        shares = [(below, value - region.low), (above, region.high - value)]
    else:
        is_above = value >= region.high
        shares = [(below, value - region.high) if is_above else (above, region.low - value)]
    growth = max(
        (width / gap if gap > 0 else math.inf) ** 2 for width, gap in shares if math.isfinite(gap)
    )
    if growth * n > MOST_BLOCKS:
        return None
    return max(LEAST_BLOCKS + 1, n + 1, math.ceil(growth * n - 1e-9))
