"""The fewest blocks with which a claim can be settled.

Exact intervals of few blocks are wide however well the blocks agree. The fewest blocks are found on
ideal campaigns, whose cells all lie far on one side of their region's edge: some such campaign must
be judged reproduced, and some contradicted. Real blocks agree less, so this is a lower bound.

A share or a number of cells mostly leaves room for a cell that lies on the other side. With five
blocks a single such cell may leave the bounds on the number open, however clear the other cells
are. So one cell of an ideal campaign is such a cell, if the claim's region has room for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from httpbed.analysis.claims import cells, estimation, verdict
from httpbed.analysis.claims.estimation import CellSet
from httpbed.analysis.location import NoIntervalError
from httpbed.experiment.claims import possible
from httpbed.experiment.claims.cell_builder import ClaimCell
from httpbed.experiment.claims.compiled import CompiledClaim
from httpbed.experiment.claims.region import Region

LEAST = verdict.LEAST_BLOCKS
"""A claim about many cells could be settled with fewer, but no single cell of it."""
MOST = 50


def to_settle(claim: CompiledClaim, parts: int = 1) -> int:
    """Return the fewest blocks; ``MOST`` if so many do not suffice.

    ``parts`` is the number of claims that share the error rate.

    Of a claim that subtracts cells of an unknown design, it is the number that any claim needs.
    """
    if claim.unknown:
        return LEAST
    for blocks in range(LEAST, MOST):
        if {"reproduced", "contradicted"} <= set(_ideal_verdicts(claim, blocks, parts)):
            return blocks
    return MOST


def _ideal_verdicts(claim: CompiledClaim, blocks: int, parts: int) -> Iterator[str]:
    for values in _ideal_values(claim):
        sets = [_set(claim, *one, blocks) for one in values]
        try:
            found, _, _ = estimation.estimate(claim, sets, parts)
        except NoIntervalError:
            continue
        yield verdict.rule(found, estimation.region(claim))


CellValues = tuple[Sequence[ClaimCell], Sequence[float]]


def _ideal_values(claim: CompiledClaim) -> Iterator[list[CellValues]]:
    """Yield the values of all cells in each ideal campaign."""
    stated = claim.stated
    in_range = Region() if stated.rank_of else possible.of_cell(stated)
    if stated.rank_of and stated.estimate == "variation":  # ranked by ratios
        in_range = possible.POSITIVE
    inside = _point(claim.cell_region, in_range)
    outside = _outside(claim.cell_region, in_range)
    if stated.take == "spread":
        yield [(claim.cells, _pairs(claim, inside))]
        yield [(claim.cells, [1.0] * len(claim.cells))]
        return
    if claim.subtracted and not stated.share_in and not stated.count_in:
        distances = _point(claim.region, Region()), _outside(claim.region, Region())
        base = 1 + max(map(abs, distances))
        for distance in distances:
            yield [_all(claim.cells, base + distance), _all(claim.subtracted, base)]
        return
    other = {inside: outside, outside: inside} if _has_room(claim) else {}
    for first, second in itertools.product((inside, outside), repeat=2):
        one = _all(claim.cells, first, other.get(first))
        rest = _all(claim.subtracted, second, other.get(second))
        yield [one, rest] if claim.subtracted else [one]


def _all(wanted: Sequence[ClaimCell], value: float, last: float | None = None) -> CellValues:
    """Return cells with one value; the last cell with another one, if it is given."""
    values = [value] * len(wanted)
    return wanted, values if last is None else [*values[:-1], last][: len(wanted)]


def _has_room(claim: CompiledClaim) -> bool:
    """Whether a cell on the other side leaves the statistic on its side of the region's edge."""
    if claim.aggregate not in {"share", "count"}:
        return False
    sets = [one for one in (claim.cells, claim.subtracted) if one]
    scale = [1 / len(one) if claim.aggregate == "share" else 1 for one in sets]
    most, one_cell = len(sets[0]) * scale[0] + claim.offset, sum(scale)
    least = claim.offset - (len(sets[1]) * scale[1] if claim.subtracted else 0)
    holds = claim.region.contains
    return holds(most) == holds(most - one_cell) and holds(least) == holds(least + one_cell)


def _pairs(claim: CompiledClaim, ratio: float) -> list[float]:
    """Return the ratios of all pairs of cells; an earlier cell is larger by ``ratio``.

    Each pair is there in both orders.
    """
    count = round((1 + math.sqrt(1 + 4 * len(claim.cells))) / 2)
    pairs = itertools.permutations(range(count), 2)
    return [ratio if one < other else 1 / ratio for one, other in pairs]


def _set(
    claim: CompiledClaim, wanted: Sequence[ClaimCell], values: Sequence[float], n: int
) -> CellSet:
    return CellSet(
        [
            cells.ideal(cell.quantity, claim.stated.estimate, value, n)
            for cell, value in zip(wanted, values, strict=True)
        ],
        [cell.levels for cell in wanted],
        0,
        estimation.are_independent(wanted),
    )


def _point(region: Region, within: Region) -> float:
    """Return a value well inside both regions."""
    low, high = max(region.low, within.low), min(region.high, within.high)
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2
    if math.isfinite(low):
        return low + 1 + abs(low)
    return high - 1 - abs(high) if math.isfinite(high) else 0.0


def _outside(region: Region, within: Region) -> float:
    """Return a possible value well outside a region."""
    if region.high < within.high:
        return _point(Region(low=region.high), within)
    return _point(Region(high=region.low), within)
