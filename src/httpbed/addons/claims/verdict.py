"""The verdict of a claim: where the interval of its estimate lies.

The interval lies inside the region: **reproduced**. It does not meet the region: **contradicted**.
Otherwise: **open**. A claim of a direction may be neither right nor wrong: if the whole
interval lies within the smallest effect that counts, the verdict is **no difference**. What the
campaign lacks is **not run**.

Each end of the interval fails with probability 2.5 %, so the interval covers 95 %, and a claim at
the very edge of its region gets a wrong verdict in one case of 40. The exact interval of a single
cell cannot reach 2.5 % with five blocks; its ends then fail with the smallest probability that the
number of blocks permits, at most 5 %. Several intervals that a verdict needs at once share these
probabilities (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from httpbed.addons.claims.cells import CellLocation
from httpbed.addons.claims.region import Region
from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Bounded

ClaimVerdict = Literal["reproduced", "contradicted", "no difference", "open", "not run"]
VERDICTS: tuple[ClaimVerdict, ...] = (
    "reproduced",
    "contradicted",
    "no difference",
    "open",
    "not run",
)

SIDE = 0.025
"""Probability with which each end of an interval fails."""
WORST_SIDE = 0.05
"""The same, where few blocks permit no smaller one."""
MIN_BLOCKS = 5
"""A claim about a single cell is judged from so many blocks on."""
MIN_OF_MANY = 2
"""Several cells estimate their variances together, so each needs fewer blocks."""


class TooFewBlocksError(NoIntervalError):
    """The cells were measured, but in too few blocks for a verdict."""


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
    is_equal: bool = False
    """Whether the whole interval lies within the smallest effect that counts."""
    not_run: int = 0
    """Number of its cells that the campaign does not have."""


class Bracket(NamedTuple):
    """A statistic over cells, with bounds on it."""

    value: Bounded
    low: float
    high: float


def least_blocks(cells: Sequence[CellLocation]) -> int:
    """Return the number of blocks that each of some cells needs."""
    return MIN_OF_MANY if len(cells) > 1 else MIN_BLOCKS


def side_of(cells: Sequence[CellLocation], parts: int = 1) -> float:
    """Return the probability with which each end may fail, if so many intervals share it.

    Together they fail with :data:`WORST_SIDE` at most. A cell with too few blocks for its part of
    that has open ends.

    Raises:
        TooFewBlocksError: A cell has too few blocks.
    """
    fewest, least = min(cell.n for cell in cells), least_blocks(cells)
    if fewest < least:
        blocks = "block" if fewest == 1 else "blocks"
        raise TooFewBlocksError(f"n = {fewest} {blocks}; a verdict needs at least {least}")
    return _shared(max(cell.least_p for cell in cells), parts)


def own_side(cell: CellLocation) -> float:
    """Return the probability with which each end of a cell's own interval may fail."""
    return _shared(cell.least_p, 1)


def _shared(least_p: float, parts: int) -> float:
    """Return the part of the error rate that each of so many intervals gets."""
    return min(WORST_SIDE, max(SIDE, least_p * parts)) / parts


def rule(estimate: ClaimEstimate, region: Region) -> ClaimVerdict:
    """Return the verdict of an estimate."""
    if estimate.is_equal:
        return "no difference"
    if region.contains_all(estimate.low, estimate.high):
        return "reproduced"
    if not region.meets(estimate.low, estimate.high):
        return "contradicted"
    return "not run" if estimate.not_run else "open"
