"""What cells of a claim about every one of them measured: the values, or the worst of many."""

from __future__ import annotations

import math

from httpbed.addons.claims import compiled
from httpbed.addons.claims.estimation import CellValue
from httpbed.addons.claims.judging import ArmJudgement
from httpbed.addons.claims.region import Region, parse_region
from httpbed.addons.claims.stated import StatedClaim
from httpbed.report.phrasing import listed, number_format

MAX_VALUES = 3
"""Cells whose values are all written."""
NOTHING = "nothing, for lack of trials"


def named(stated: StatedClaim, value: str, cells: int) -> str:
    """Say what an estimate without unit is: a ratio, a correlation, so many of all cells."""
    if stated.count_in:
        return f"{value} of {cells}"
    if stated.rank_of:
        return f"rank {value} of {cells + 1}"  # the cells are its rivals
    return f"{_statistic(stated)}{value}{_times(stated)}"


def _statistic(stated: StatedClaim) -> str:
    """Name a statistic that is no value of the metric, nor a change of one."""
    if stated.trend:
        return "correlation " if stated.estimate == "correlation" else "rank correlation "
    if stated.knee:
        return "exponent lower by "
    if stated.estimate == "variation":
        return "coefficient of variation " + ("higher by " if stated.minus else "")
    return ""


def _times(stated: StatedClaim) -> str:
    """Return the sign of a ratio."""
    if stated.take == "spread":
        return "x"
    is_of_several = stated.share_in or stated.minus or stated.minus_other
    if is_of_several or not compiled.is_change(stated):
        return ""
    return "x" if stated.compare[-1].by == "ratio" else ""


def of_cells(stated: StatedClaim, arm: ArmJudgement, *, is_share: bool) -> str:
    """Write the effect: ``17.0 s [16.8, 17.3] and 17.2 s [17.0, 17.3]``, or ``worst of 18: ...``.

    The worst cell is the one farthest outside the claim's region, or nearest to its ends.
    """
    texts = [_number(stated, arm, cell, is_share=is_share) for cell in arm.cells]
    if len(texts) <= MAX_VALUES:
        return listed(texts)
    region = parse_region(stated.expect or "", compiled.cell_unit(stated))
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
    unit = compiled.cell_unit(stated)
    if unit != "1" and stated.metric:
        form = number_format(stated.metric, [abs(one.value.value) for one in arm.cells])
        value = form.bounded(cell.value)
        ends = [form.number(end) if math.isfinite(end) else "?" for end in (cell.low, cell.high)]
    else:
        factor, sign = (100, " %") if is_share else (1, "")
        value = named(stated, f"{cell.value.beyond}{_plain(factor * cell.value.value)}{sign}", 0)
        ends = [_plain(factor * end) for end in (cell.low, cell.high)]
    return f"{value} [{', '.join(ends)}]"


def _plain(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "?"
