"""About how many blocks would settle an open claim: by simulation from its fitted cells.

Blocks are drawn around the cells' estimates with their moderated variances, and with the
correlation of the blocks' residuals between cells. The same code judges each simulated campaign.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from httpbed.addons.claims import cells as locations
from httpbed.addons.claims import moderated, repetition
from httpbed.addons.claims.cells import CellLocation
from httpbed.addons.claims.stated import BlockStatistic
from httpbed.results.location import NoIntervalError

NUMBERS = (6, 7, 8, 10, 12, 15, 20, 30, 40, 60, 100)
"""Numbers of blocks that are tried."""
MOST_BLOCKS = NUMBERS[-1]
CAMPAIGNS, MOST_OPEN = 10, 2
"""Simulated campaigns of each number of blocks, and how many of them may stay open."""
SEED = 20260102

Sets = Sequence[Sequence[CellLocation]]


def blocks_to_settle(
    sets: Sets, statistic: BlockStatistic, is_settled: Callable[[Sets], bool]
) -> int | None:
    """Return about how many blocks would settle a claim; more than ``MOST_BLOCKS`` if those do not.

    None where cells have no values of blocks.
    """
    cells = [cell for one in sets for cell in one]
    if any(len(cell.values) < moderated.LEAST_CELLS for cell in cells):
        return None
    tried = [one for one in NUMBERS if one > min(cell.n for cell in cells)]

    def is_enough(blocks: int) -> bool:
        campaigns = _campaigns(sets, statistic, blocks)
        return sum(not is_settled(one) for one in campaigns) <= MOST_OPEN

    at = bisect.bisect_left(tried, True, key=is_enough)
    return tried[at] if at < len(tried) else MOST_BLOCKS + 1


def _campaigns(sets: Sets, statistic: BlockStatistic, blocks: int) -> Iterator[Sets]:
    """Yield simulated campaigns of so many blocks."""
    random = np.random.default_rng(SEED + blocks)
    cells = [cell for one in sets for cell in one]
    known = repetition.errors(cells, of_medians=False)
    spread = known.own * np.sqrt([cell.n for cell in cells])
    rho = repetition.correlation(cells)
    for _ in range(CAMPAIGNS):
        common = random.standard_normal(blocks)
        own = random.standard_normal((len(cells), blocks))
        noise = math.sqrt(rho) * common + math.sqrt(1 - rho) * own
        values = known.centres[:, None] + spread[:, None] * noise
        try:
            found = iter(
                [
                    locations.from_values(cell, one, statistic)
                    for cell, one in zip(cells, values, strict=True)
                ]
            )
        except NoIntervalError:
            continue
        yield [[next(found) for _ in one] for one in sets]
