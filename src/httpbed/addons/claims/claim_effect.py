"""What cells of a claim about every one of them measured: the values, or the worst of many."""

from __future__ import annotations

import math

from httpbed.addons.claims import possible
from httpbed.addons.claims.estimation import CellValue
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.claims.region import Region, parse_region
from httpbed.addons.claims.stated import StatedClaim
from httpbed.report.phrasing import listed, number_format

MOST_VALUES = 3
"""Cells whose values are all written."""


def of_cells(stated: StatedClaim, arm: ArmJudgement, *, is_share: bool) -> str:
    """Write the effect: ``17.0 s [16.8, 17.3] and 17.2 s [17.0, 17.3]``, or ``worst of 18: ...``.

    The worst cell is the one farthest outside the claim's region, or nearest to its ends.
    """
    texts = [_number(stated, arm, cell, is_share=is_share) for cell in arm.cells]
    if len(texts) <= MOST_VALUES:
        return listed(texts)
    region = parse_region(stated.expect or "", possible.cell_unit(stated))
    worst = max(range(len(texts)), key=lambda at: _outside(arm.cells[at].value.value, region))
    inside = sum(cell.is_inside for cell in arm.cells)
    lacking = arm.estimate.cells - len(texts) if arm.estimate else 0
    absent = f", {lacking} missing" if lacking else ""
    return f"worst of {len(texts)}: {texts[worst]}; {inside} of {len(texts)} as claimed{absent}"


def _outside(value: float, region: Region) -> float:
    """Return how far a value lies outside a region; negative inside."""
    return max(region.low - value, value - region.high)


def _number(stated: StatedClaim, arm: ArmJudgement, cell: CellValue, *, is_share: bool) -> str:
    """Write the value of a cell with its own interval."""
    unit = possible.cell_unit(stated)
    if unit != "1" and stated.metric:
        form = number_format(stated.metric, [abs(one.value.value) for one in arm.cells])
        value = form.bounded(cell.value)
        ends = [form.number(end) if math.isfinite(end) else "?" for end in (cell.low, cell.high)]
    else:
        factor, sign = (100, " %") if is_share else (1, "")
        value = f"{cell.value.beyond}{_plain(factor * cell.value.value)}{sign}"
        ends = [_plain(factor * end) for end in (cell.low, cell.high)]
    return f"{value} [{', '.join(ends)}]"


def _plain(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "?"
