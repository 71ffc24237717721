"""The fewest blocks with which a claim can be settled.

Exact intervals of few blocks are wide however well the blocks agree. For a single cell, the fewest
blocks are found on ideal campaigns, in which all blocks agree, far on one side of the region's
edge: some such campaign must be judged reproduced, and some contradicted. Real blocks agree less,
so this is a lower bound. Several cells estimate their variances together, and have no such limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from httpbed.addons.claims import cells, possible, verdict
from httpbed.addons.claims.compiled import CompiledClaim
from httpbed.addons.claims.estimation import CellSet, Estimator, region
from httpbed.addons.claims.region import Region
from httpbed.results.location import NoIntervalError

LEAST = verdict.LEAST_BLOCKS
"""A claim about many cells could be settled with fewer, but no single cell of it."""
MOST = 50


def to_settle(claim: CompiledClaim, parts: int = 1) -> int:
    """Return the fewest blocks; ``MOST`` if so many do not suffice.

    ``parts`` is the number of claims that share the error rate.

    Of a claim that subtracts cells of an unknown design, it is the number that any claim needs.
    """
    if claim.unknown or len(claim.cells) > 1 or claim.subtracted:
        return LEAST
    for blocks in range(LEAST, MOST):
        if {"reproduced", "contradicted"} <= set(_ideal_verdicts(claim, blocks, parts)):
            return blocks
    return MOST


def _ideal_verdicts(claim: CompiledClaim, blocks: int, parts: int) -> Iterator[str]:
    in_range = possible.of_cell(claim.stated)
    (cell,) = claim.cells
    for value in (_point(claim.cell_region, in_range), _outside(claim.cell_region, in_range)):
        ideal = cells.ideal(cell.quantity, claim.stated.estimate, value, blocks)
        try:
            found, _ = Estimator(claim, blocks, parts).estimate([CellSet([ideal], [{}], 0)])
        except NoIntervalError:
            continue
        yield verdict.rule(found, region(claim))


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
