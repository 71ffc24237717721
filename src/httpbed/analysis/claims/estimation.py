"""The estimate of a claim from its located cells: a statistic over cells, with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpbed.analysis.claims import verdict as verdicts
from httpbed.analysis.claims.cells import CellLocation
from httpbed.analysis.claims.verdict import Bracket, ClaimEstimate
from httpbed.analysis.sample import Beyond, Bounded
from httpbed.experiment.claims.cell_builder import ClaimCell
from httpbed.experiment.claims.compiled import CompiledClaim
from httpbed.experiment.claims.quantity import ContrastValue, leaves
from httpbed.experiment.claims.region import Region
from httpbed.experiment.treatment import TreatmentKey

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
    independent: bool
    """Whether p-values of the cells are independent."""


def estimate(
    claim: CompiledClaim, sets: Sequence[CellSet], parts: int
) -> tuple[ClaimEstimate, int | None, tuple[CellValue, ...]]:
    """Return the estimate, the number of blocks that would settle it, and its cells.

    ``parts`` is the number of claims that share the error rate.

    Raises:
        NoIntervalError: A single cell has too few blocks.
    """
    side = max(verdicts.side_of(one.present, parts * len(sets)) for one in sets)
    found = [_aggregated(claim, one, side) for one in sets]
    bracket = found[0] if len(found) == 1 else _difference(*found)
    whole = _estimate(claim, sets, bracket, side * len(sets))
    present = [cell for one in sets for cell in one.present]
    if claim.aggregate in {"share", "count"} or _counts_every(claim):
        settle = verdicts.blocks_to_settle_cells(present, claim.cell_region, side)
    else:
        settle = verdicts.blocks_to_settle(whole, claim.region)
    return whole, settle, tuple(_cell_values(claim, sets)) if len(present) > 1 else ()


def _cell_values(claim: CompiledClaim, sets: Sequence[CellSet]) -> Iterator[CellValue]:
    for one in sets:
        for cell, levels in zip(one.present, one.levels, strict=True):
            side = verdicts.own_side(cell)
            is_inside = claim.cell_region.contains(cell.value.value)
            yield CellValue(levels, cell.value, cell.low(side), cell.high(side), is_inside)


def _difference(one: Bracket, other: Bracket) -> Bracket:
    """Return a difference; bounds on both of its terms may leave it on either side."""
    opposite: Mapping[Beyond, Beyond] = {">": "<", "<": ">", "?": "?", "": ""}
    sides = {one.value.beyond, opposite[other.value.beyond]} - {""}
    beyond: Beyond = "?" if len(sides) > 1 else next(iter(sides), "")
    value = Bounded(one.value.value - other.value.value, beyond)
    return Bracket(value, one.low - other.high, one.high - other.low)


def are_independent(cells: Sequence[ClaimCell]) -> bool:
    """Whether cells are contrasts within blocks, so that drift cancels, and share no trial."""
    if not all(isinstance(cell.quantity, ContrastValue) for cell in cells):
        return False
    used = Counter(key for cell in cells for key in _trials_of(cell))
    return max(used.values()) == 1


def _trials_of(cell: ClaimCell) -> frozenset[tuple[str, TreatmentKey]]:
    return frozenset(
        (leaf.experiment, key) for leaf in leaves(cell.quantity) for key in leaf.treatments
    )


def region(claim: CompiledClaim) -> Region:
    """Return the region of the estimate; of a claim about every cell, that of their number."""
    if _counts_every(claim):
        return Region(float(len(claim.cells)), float(len(claim.cells)))
    return claim.region


def _counts_every(claim: CompiledClaim) -> bool:
    return claim.aggregate == "every" and len(claim.cells) > 1


def _aggregated(claim: CompiledClaim, evidence: CellSet, side: float) -> Bracket:
    """Return the statistic over cells with its bounds."""
    cells, missing, independent = evidence.present, evidence.missing, evidence.independent
    if claim.aggregate == "largest":
        return verdicts.largest(cells, missing, side, independent=independent)
    if claim.aggregate == "smallest":
        return verdicts.smallest(cells, missing, side, independent=independent)
    if claim.aggregate == "every" and not _counts_every(claim):
        (cell,) = cells
        return Bracket(cell.value, cell.low(side), cell.high(side))
    found = verdicts.counted(cells, claim.cell_region, missing, side, independent=independent)
    value, low, high = found
    if claim.aggregate == "share":
        total = len(cells) + missing
        return Bracket(Bounded(value.value / len(cells)), low / total, high / total)
    offset = claim.offset
    return Bracket(Bounded(value.value + offset), low + offset, high + offset)


def _estimate(
    claim: CompiledClaim,
    evidence: Sequence[CellSet],
    bracket: Bracket,
    side: float,
) -> ClaimEstimate:
    present = [cell for one in evidence for cell in one.present]
    sizes = [cell.n for cell in present]
    return ClaimEstimate(
        value=bracket.value,
        low=bracket.low,
        high=bracket.high,
        coverage=1 - 2 * side,
        blocks=(min(sizes), max(sizes)),
        cells=len(claim.cells) + len(claim.subtracted),
        judged_cells=len(present),
        is_constant=any(cell.is_constant for cell in present),
        unit=CELLS if _counts_every(claim) else claim.unit,
    )
