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

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from httpbed.addons.claims import repetition
from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.compiled_claim import CompiledClaim
from httpbed.addons.claims.region import Region
from httpbed.base.units import format_count
from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Beyond, Bounded, Floats

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
        blocks = format_count(fewest, "block")
        raise TooFewBlocksError(f"n = {blocks}; a verdict needs at least {least}")
    return _shared(max(cell.least_p for cell in cells), parts)


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


CELLS = "cells"


@dataclass(frozen=True)
class CellValue:
    """One of several cells."""

    levels: Mapping[str, str]
    value: Bounded
    low: float
    high: float
    """Ends of its own interval, as if it were the only cell."""
    is_inside: bool
    """Whether the value lies in the region of a cell."""


@dataclass(frozen=True)
class CellSet:
    """The located cells of a claim, or those that are subtracted."""

    present: Sequence[CellLocation]
    levels: Sequence[Mapping[str, str]]
    missing: int
    """Cells without enough values."""
    not_run: int = 0
    """How many of those the campaign does not have."""


@dataclass(frozen=True)
class Estimator:
    """Estimates what a claim is about."""

    claim: CompiledClaim
    loads: int
    """The number of loads of each cell in the paper's own procedure."""
    parts: int = 1
    """Number of claims that share the error rate."""

    def estimate(self, measured: Sequence[CellSet]) -> tuple[ClaimEstimate, tuple[CellValue, ...]]:
        """Return the estimate and its cells.

        Raises:
            TooFewBlocksError: A single cell has too few blocks.
        """
        sets = [
            replace(cell_set, present=repetition.located(cell_set.present)) for cell_set in measured
        ]
        side = max(side_of(cell_set.present, self.parts) for cell_set in sets)
        estimate = self._estimate(sets, self._bracket(sets, side), side)
        has_several = sum(len(cell_set.present) for cell_set in sets) > 1
        return estimate, tuple(self._cell_values(sets)) if has_several else ()

    def _bracket(self, sets: Sequence[CellSet], side: float) -> Bracket:
        """Return the statistic over cells with its bounds; of two sets, their difference."""
        if len(sets) == 1:
            return self._aggregated(sets[0], side)
        whole = _difference(*(self._aggregated(cell_set, side / 2) for cell_set in sets))
        cells, subtracted = (cell_set.present for cell_set in sets)
        has_all = not any(cell_set.missing for cell_set in sets)
        if not (has_all and _have_values(cells) and _have_values(subtracted)):
            return whole
        if self.claim.aggregate == "share":
            numbers = [
                repetition.number_inside(of_set, self.claim.cell_region, self.loads)
                for of_set in (cells, subtracted)
            ]
            sizes = len(cells), len(subtracted)
            return Bracket(whole.value, *repetition.difference(numbers[0], numbers[1], sizes, side))
        if self.claim.aggregate == "largest":
            priors = itertools.product(repetition.draws(cells, 0), repetition.draws(subtracted, 1))
            differences = [drawn.max(axis=1) - other.max(axis=1) for drawn, other in priors]
            return Bracket(whole.value, *_hull(differences, side))
        return whole

    def _aggregated(self, cell_set: CellSet, side: float) -> Bracket:
        claim, cells = self.claim, cell_set.present
        if claim.aggregate == "largest":
            return self._largest(cell_set, side)
        if claim.aggregate == "every" and not _counts_every(claim):
            (cell,) = cells
            return Bracket(cell.value, cell.low(side), cell.high(side))
        if claim.aggregate == "every" or not _have_values(cells):
            return self._scaled(cell_set, *_certain(cells, claim.cell_region, side))
        loads = None if claim.stated.rank_of else self.loads
        number = repetition.number_inside(cells, claim.cell_region, loads)
        return self._scaled(cell_set, number.low(side), number.high(side))

    def _scaled(self, cell_set: CellSet, low: int, high: int) -> Bracket:
        """Return a number of cells, or their share; a missing cell may lie in the region or not."""
        cells, missing = cell_set.present, cell_set.missing
        inside = sum(self.claim.cell_region.contains(self._value(cell).value) for cell in cells)
        if self.claim.aggregate == "share":
            total = len(cells) + missing
            return Bracket(Bounded(inside / len(cells)), low / total, (high + missing) / total)
        offset = self.claim.offset
        return Bracket(Bounded(float(inside + offset)), low + offset, high + missing + offset)

    def _largest(self, cell_set: CellSet, side: float) -> Bracket:
        """Return the largest value of the cells, and bounds on it."""
        cells = cell_set.present
        value = max((cell.value for cell in cells), key=lambda bounded: bounded.value)
        # The lower end holds for any cell, the upper one for all.
        low = max(cell.low(side / len(cells)) for cell in cells)
        high = max(cell.high(side) for cell in cells)
        if len(cells) > 1 and _have_values(cells) and self.claim.stated.take != "spread":
            low, high = _hull([draw.max(axis=1) for draw in repetition.draws(cells)], side)
        return Bracket(value, low, math.inf if cell_set.missing else high)

    def _value(self, cell: CellLocation) -> Bounded:
        """Return the value by which a cell counts: a share's is what the medians give."""
        is_median = self.claim.aggregate in {"share", "count"} and not self.claim.stated.rank_of
        if is_median and math.isfinite(cell.of_medians):
            return Bounded(cell.shown(cell.of_medians))
        return cell.value

    def _cell_values(self, sets: Sequence[CellSet]) -> Iterator[CellValue]:
        for cell_set in sets:
            for cell, levels in zip(cell_set.present, cell_set.levels, strict=True):
                side, value = _shared(cell.least_p, 1), self._value(cell)
                is_inside = self.claim.cell_region.contains(value.value)
                yield CellValue(levels, value, cell.low(side), cell.high(side), is_inside)

    def _estimate(self, sets: Sequence[CellSet], bracket: Bracket, side: float) -> ClaimEstimate:
        present = [cell for cell_set in sets for cell in cell_set.present]
        sizes = [cell.n for cell in present]
        missing = sum(cell_set.missing for cell_set in sets)
        return ClaimEstimate(
            value=bracket.value,
            low=bracket.low,
            high=bracket.high,
            coverage=1 - 2 * side,
            blocks=(min(sizes), max(sizes)),
            cells=len(present) + missing,
            judged_cells=len(present),
            is_constant=any(cell.is_constant for cell in present),
            unit=CELLS if _counts_every(self.claim) else self.claim.unit,
            is_equal=not missing and self._is_equal(present, bracket, side),
            not_run=sum(cell_set.not_run for cell_set in sets),
        )

    def _is_equal(self, cells: Sequence[CellLocation], bracket: Bracket, side: float) -> bool:
        """Whether no cell of a claim about a direction has a difference worth the name."""
        equal = self.claim.no_difference
        if equal is None:
            return False
        if _counts_every(self.claim):
            return _certain(cells, equal, side)[0] == len(cells)
        return equal.contains_all(bracket.low, bracket.high)


def region(claim: CompiledClaim) -> Region:
    """Return the region of the estimate; of a claim about every cell, that of their number."""
    if _counts_every(claim):
        return Region(float(len(claim.cells)), float(len(claim.cells)))
    return claim.region


def _counts_every(claim: CompiledClaim) -> bool:
    return claim.aggregate == "every" and len(claim.cells) > 1


def _have_values(cells: Sequence[CellLocation]) -> bool:
    """Whether the cells have values of blocks, as those of shares of trials have not."""
    return all(len(cell.values) > 1 for cell in cells)


def _certain(cells: Sequence[CellLocation], inner: Region, side: float) -> tuple[int, int]:
    """Return the least and the largest number of cells in a region that the data allow."""
    inside = np.array([cell.p_inside(inner) for cell in cells])
    outside = np.array([cell.p_outside(inner) for cell in cells])
    return false_hypotheses(inside, side), len(cells) - false_hypotheses(outside, side)


def _hull(draws: Sequence[Floats], side: float) -> tuple[float, float]:
    ends = [np.quantile(draw, [side, 1 - side]) for draw in draws]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def _difference(bracket: Bracket, subtracted: Bracket) -> Bracket:
    """Return a difference; bounds on both of its terms may leave it on either side."""
    opposite: Mapping[Beyond, Beyond] = {">": "<", "<": ">", "?": "?", "": ""}
    sides = {bracket.value.beyond, opposite[subtracted.value.beyond]} - {""}
    beyond: Beyond = "?" if len(sides) > 1 else next(iter(sides), "")
    value = Bounded(bracket.value.value - subtracted.value.value, beyond)
    return Bracket(value, bracket.low - subtracted.high, bracket.high - subtracted.low)


def false_hypotheses(p_values: Floats, side: float) -> int:
    """Return the lower bound on the number of false hypotheses, at error rate ``side``.

    A claim about every cell of a set needs one error rate for all of them. The **partial
    conjunction** test (Benjamini and Heller 2008, Biometrics 64) rejects "fewer than u of the m
    hypotheses are false" by combining the m - u + 1 largest p-values. The largest u up to which
    every test rejects is the bound. For u = m it is the largest p-value alone: that all cells lie
    in a region needs no correction.

    The p-values are combined by Simes' method, which holds under positive dependence (theorem 1
    there): packets of a block are lost alike in all trials of a campaign.
    """
    above = np.flatnonzero(combined_p_values(p_values) > side)
    return int(above[0]) if above.size else int(p_values.size)


def combined_p_values(p_values: Floats) -> Floats:
    """Return the p-values of "fewer than u are false" for u = 1 ... m."""
    largest_first = np.sort(p_values)[::-1]
    sizes = range(largest_first.size, 0, -1)
    return np.array([_simes(largest_first[:size]) for size in sizes])


def _simes(p_values: Floats) -> float:
    smallest_first = np.sort(p_values)
    ranks = np.arange(1, smallest_first.size + 1)
    return float(np.min(smallest_first * smallest_first.size / ranks))
