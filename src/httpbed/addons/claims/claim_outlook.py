"""How many blocks would settle a claim: at least, and about.

**About.** Blocks are drawn around the cells' estimates with their moderated variances, and with the
correlation of the blocks' residuals between cells. The same code judges each simulated campaign.

**At least.** Exact intervals of few blocks are wide however well the blocks agree. For a single
cell, the fewest blocks are found on ideal campaigns, in which all blocks agree, far on one side of
the region's edge: some such campaign must be judged reproduced, and some contradicted. Several
cells estimate their variances together, and have no such limit.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import numpy as np

from httpbed.addons.claims import cell_location as locations
from httpbed.addons.claims import claim_verdict, repetition
from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.claim_verdict import MIN_BLOCKS, CellSet, Estimator, region
from httpbed.addons.claims.compiled_claim import CompiledClaim, cell_range
from httpbed.addons.claims.region import Region
from httpbed.addons.claims.stated_claim import BlockStatistic
from httpbed.results.location import NoIntervalError

NUMBERS = (6, 7, 8, 10, 12, 15, 20, 30, 40, 60, 100)
"""Numbers of blocks that are tried."""
MAX_BLOCKS = NUMBERS[-1]
CAMPAIGNS, MAX_OPEN = 10, 2
"""Simulated campaigns of each number of blocks, and how many of them may stay open."""
SEED = 20260102

Sets = Sequence[Sequence[CellLocation]]


def blocks_to_settle(estimator: Estimator, measured: Sequence[CellSet]) -> int | None:
    """Return about how many blocks would settle a claim; more than ``MAX_BLOCKS`` if those do not.

    None where cells have no values of blocks.
    """
    sets = [cell_set.present for cell_set in measured]
    cells = list(chain.from_iterable(sets))
    if any(len(cell.values) < repetition.MIN_CELLS for cell in cells):
        return None
    tried = [number for number in NUMBERS if number > min(cell.n for cell in cells)]

    def is_enough(blocks: int) -> bool:
        campaigns = _campaigns(sets, estimator.claim.stated.estimate, blocks)
        still_open = (campaign for campaign in campaigns if _is_open(estimator, campaign))
        return not any(islice(still_open, MAX_OPEN, None))  # which ends at the first too many

    at = bisect.bisect_left(tried, True, key=is_enough)
    return tried[at] if at < len(tried) else MAX_BLOCKS + 1


def _is_open(estimator: Estimator, simulated: Sets) -> bool:
    sets = [CellSet(cells, [{}] * len(cells), 0) for cells in simulated]
    estimate, _ = estimator.estimate(sets)
    return claim_verdict.rule(estimate, region(estimator.claim)) == "open"


def _campaigns(sets: Sets, statistic: BlockStatistic, blocks: int) -> Iterator[Sets]:
    """Yield simulated campaigns of so many blocks."""
    random = np.random.default_rng(SEED + blocks)
    cells = list(chain.from_iterable(sets))
    known = repetition.errors(cells, of_medians=False)
    spread = known.own * np.sqrt([cell.n for cell in cells])
    rho = repetition.correlation(cells)
    for _ in range(CAMPAIGNS):
        common = random.standard_normal(blocks)
        own = random.standard_normal((len(cells), blocks))
        noise = math.sqrt(rho) * common + math.sqrt(1 - rho) * own
        values = known.centres[:, None] + spread[:, None] * noise
        try:
            drawn = iter(
                [
                    locations.from_values(cell, of_cell, statistic)
                    for cell, of_cell in zip(cells, values, strict=True)
                ]
            )
        except NoIntervalError:
            continue
        yield [list(islice(drawn, len(cell_set))) for cell_set in sets]


MAX_NEEDED = 50


def to_settle(claim: CompiledClaim, parts: int = 1) -> int:
    """Return the fewest blocks; ``MAX_NEEDED`` if so many do not suffice.

    ``parts`` is the number of claims that share the error rate.

    Of a claim that subtracts cells of an unknown design, it is the number that any claim needs. A
    claim about many cells could be settled with fewer, but no single cell of it.
    """
    if claim.unknown or len(claim.cells) > 1 or claim.subtracted:
        return MIN_BLOCKS
    for blocks in range(MIN_BLOCKS, MAX_NEEDED):
        if {"reproduced", "contradicted"} <= set(_ideal_verdicts(claim, blocks, parts)):
            return blocks
    return MAX_NEEDED


def _ideal_verdicts(claim: CompiledClaim, blocks: int, parts: int) -> Iterator[str]:
    in_range = cell_range(claim.stated)
    (cell,) = claim.cells
    for value in (_point(claim.cell_region, in_range), _outside(claim.cell_region, in_range)):
        ideal = locations.ideal(cell.quantity, claim.stated.estimate, value, blocks)
        try:
            estimate, _ = Estimator(claim, blocks, parts).estimate([CellSet([ideal], [{}], 0)])
        except NoIntervalError:
            continue
        yield claim_verdict.rule(estimate, region(claim))


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
