"""The estimate of a claim from its located cells: a statistic over cells, with its interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.claims import moderated, outlook, repetition
from httpbed.addons.claims import verdict as verdicts
from httpbed.addons.claims.cells import CellLocation
from httpbed.addons.claims.compiled import CompiledClaim
from httpbed.addons.claims.counting import false_hypotheses
from httpbed.addons.claims.region import Region
from httpbed.addons.claims.verdict import Bracket, ClaimEstimate
from httpbed.results.sample import Beyond, Bounded, Floats

CELLS = "cells"
"""The unit of a number of cells."""


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
    """Of each located cell."""
    missing: int
    """Cells without enough values."""
    not_run: int = 0
    """How many of those the campaign does not have."""


@dataclass(frozen=True)
class Estimator:
    """Estimates what a claim is about."""

    claim: CompiledClaim
    loads: int
    """Of each cell in the paper's own procedure."""
    parts: int = 1
    """Number of claims that share the error rate."""

    def estimate(self, sets: Sequence[CellSet]) -> tuple[ClaimEstimate, tuple[CellValue, ...]]:
        """Return the estimate and its cells.

        Raises:
            TooFewBlocksError: A single cell has too few blocks.
        """
        cells = [moderated.located(one.present) for one in sets]
        side = max(verdicts.side_of(one, self.parts) for one in cells)
        bracket = self._bracket(cells, [one.missing for one in sets], side)
        values = [*self._cell_values(cells, sets)] if sum(map(len, cells)) > 1 else []
        return self._estimate(sets, cells, bracket, side), tuple(values)

    def blocks_to_settle(self, sets: Sequence[CellSet]) -> int | None:
        """Return about how many blocks would settle an open estimate."""

        def is_settled(simulated: outlook.Sets) -> bool:
            found = [CellSet(cells, [{}] * len(cells), 0) for cells in simulated]
            whole, _ = self.estimate(found)
            return verdicts.rule(whole, region(self.claim)) != "open"

        present = [one.present for one in sets]
        return outlook.blocks_to_settle(present, self.claim.stated.estimate, is_settled)

    def _bracket(
        self, sets: Sequence[Sequence[CellLocation]], missing: Sequence[int], side: float
    ) -> Bracket:
        """Return the statistic over cells with its bounds; of two sets, their difference."""
        if len(sets) == 1:
            return self._aggregated(sets[0], missing[0], side)
        terms = [
            self._aggregated(one, lacking, side / 2)
            for one, lacking in zip(sets, missing, strict=True)
        ]
        whole = _difference(*terms)
        if any(missing) or not all(map(_have_values, sets)):
            return whole
        if self.claim.aggregate == "share":
            numbers = [
                repetition.number_inside(one, self.claim.cell_region, self.loads) for one in sets
            ]
            sizes = len(sets[0]), len(sets[1])
            return Bracket(whole.value, *repetition.difference(numbers[0], numbers[1], sizes, side))
        if self.claim.aggregate in {"largest", "smallest"}:
            drawn = [repetition.draws(one, stream) for stream, one in enumerate(sets)]
            pairs = itertools.product(*drawn)
            extreme = _EXTREMES[self.claim.aggregate]
            differences = [extreme(one, axis=1) - extreme(other, axis=1) for one, other in pairs]
            return Bracket(whole.value, *_hull(differences, side))
        return whole

    def _aggregated(self, cells: Sequence[CellLocation], missing: int, side: float) -> Bracket:
        claim = self.claim
        if claim.aggregate in {"largest", "smallest"}:
            return self._extreme(cells, missing, side)
        if claim.aggregate == "every" and not _counts_every(claim):
            (cell,) = cells
            return Bracket(cell.value, cell.low(side), cell.high(side))
        if claim.aggregate == "every" or not _have_values(cells):
            return self._scaled(cells, missing, *_certain(cells, claim.cell_region, side))
        loads = None if claim.stated.rank_of else self.loads
        number = repetition.number_inside(cells, claim.cell_region, loads)
        return self._scaled(cells, missing, number.low(side), number.high(side))

    def _scaled(self, cells: Sequence[CellLocation], missing: int, low: int, high: int) -> Bracket:
        """Return a number of cells, or their share; a missing cell may lie in the region or not."""
        inside = sum(self.claim.cell_region.contains(self._value(one).value) for one in cells)
        if self.claim.aggregate == "share":
            total = len(cells) + missing
            return Bracket(Bounded(inside / len(cells)), low / total, (high + missing) / total)
        offset = self.claim.offset
        return Bracket(Bounded(float(inside + offset)), low + offset, high + missing + offset)

    def _extreme(self, cells: Sequence[CellLocation], missing: int, side: float) -> Bracket:
        """Return the largest or smallest value of the cells, and bounds on it."""
        is_largest = self.claim.aggregate == "largest"
        value = (max if is_largest else min)((cell.value for cell in cells), key=_number)
        low, high = _ends(cells, side, is_largest=is_largest)
        if len(cells) > 1 and _have_values(cells) and self.claim.stated.take != "spread":
            extreme = _EXTREMES[self.claim.aggregate]
            low, high = _hull([extreme(one, axis=1) for one in repetition.draws(cells)], side)
        if missing:
            low, high = (low, math.inf) if is_largest else (-math.inf, high)
        return Bracket(value, low, high)

    def _value(self, cell: CellLocation) -> Bounded:
        """Return the value by which a cell counts: a share's is what the medians give."""
        is_median = self.claim.aggregate in {"share", "count"} and not self.claim.stated.rank_of
        if is_median and math.isfinite(cell.of_medians):
            return Bounded(cell.shown(cell.of_medians))
        return cell.value

    def _cell_values(
        self, cells: Sequence[Sequence[CellLocation]], sets: Sequence[CellSet]
    ) -> Iterator[CellValue]:
        for one, located in zip(sets, cells, strict=True):
            for cell, levels in zip(located, one.levels, strict=True):
                side, value = verdicts.own_side(cell), self._value(cell)
                is_inside = self.claim.cell_region.contains(value.value)
                yield CellValue(levels, value, cell.low(side), cell.high(side), is_inside)

    def _estimate(
        self,
        sets: Sequence[CellSet],
        cells: Sequence[Sequence[CellLocation]],
        bracket: Bracket,
        side: float,
    ) -> ClaimEstimate:
        present = [cell for one in cells for cell in one]
        sizes = [cell.n for cell in present]
        missing = sum(one.missing for one in sets)
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
            not_run=sum(one.not_run for one in sets),
        )

    def _is_equal(self, cells: Sequence[CellLocation], bracket: Bracket, side: float) -> bool:
        """Whether no cell of a claim about a direction has a difference worth the name."""
        equal = self.claim.no_difference
        if equal is None:
            return False
        if _counts_every(self.claim):
            return _certain(cells, equal, side)[0] == len(cells)
        return equal.contains_all(bracket.low, bracket.high)


_EXTREMES = {"largest": np.max, "smallest": np.min}


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


def _number(value: Bounded) -> float:
    return value.value


def _certain(cells: Sequence[CellLocation], inner: Region, side: float) -> tuple[int, int]:
    """Return the least and the largest number of cells in a region that the data allow."""
    inside = np.array([cell.p_inside(inner) for cell in cells])
    outside = np.array([cell.p_outside(inner) for cell in cells])
    return false_hypotheses(inside, side), len(cells) - false_hypotheses(outside, side)


def _ends(cells: Sequence[CellLocation], side: float, *, is_largest: bool) -> tuple[float, float]:
    """Return bounds on the largest or smallest value: one end holds for all cells, one for any."""
    any_side = side / len(cells)
    if is_largest:
        return max(one.low(any_side) for one in cells), max(one.high(side) for one in cells)
    return min(one.low(side) for one in cells), min(one.high(any_side) for one in cells)


def _hull(draws: Sequence[Floats], side: float) -> tuple[float, float]:
    ends = [np.quantile(one, [side, 1 - side]) for one in draws]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def _difference(one: Bracket, other: Bracket) -> Bracket:
    """Return a difference; bounds on both of its terms may leave it on either side."""
    opposite: Mapping[Beyond, Beyond] = {">": "<", "<": ">", "?": "?", "": ""}
    sides = {one.value.beyond, opposite[other.value.beyond]} - {""}
    beyond: Beyond = "?" if len(sides) > 1 else next(iter(sides), "")
    value = Bounded(one.value.value - other.value.value, beyond)
    return Bracket(value, one.low - other.high, one.high - other.low)
