"""Units and possible values of a claim's estimate, by its stages."""

from __future__ import annotations

import math
from collections.abc import Iterator

from httpbed.addons.claims.region import PLAIN, Region
from httpbed.addons.claims.stated import StatedClaim
from httpbed.experiment.metric import METRICS
from httpbed.experiment.table_problem import TableProblem

ANY = Region()
POSITIVE = Region(low=0.0)
SHARES = Region(0.0, 1.0)


def cell_unit(stated: StatedClaim) -> str:
    """Return the unit of a cell's value."""
    if stated.estimate in {"variation", "success", "violation"} or stated.metric is None:
        return PLAIN
    if stated.trend or stated.knee or stated.flip:
        return PLAIN
    relative = any(contrast.by != "difference" for contrast in stated.compare)
    return PLAIN if relative else METRICS[stated.metric].unit


def is_change(stated: StatedClaim) -> bool:
    """Return whether a cell's value is a change between treatments."""
    shape = stated.trend or stated.knee or stated.flip
    return bool(stated.compare) and not shape and stated.estimate in {"median", "mean"}


def of_cell(stated: StatedClaim) -> Region:
    """Return the values that a cell can have."""
    if stated.trend:
        return Region(-1.0, 1.0)
    if stated.knee:
        return ANY
    if stated.flip or stated.estimate == "violation":
        return SHARES
    found = SHARES if stated.estimate == "success" else POSITIVE
    for contrast in stated.compare:
        if contrast.by == "difference" or found.low < 0:
            found = ANY
        elif contrast.by == "ratio":
            found = POSITIVE
        else:
            lower = stated.metric is None or METRICS[stated.metric].better == "lower"
            found = Region(high=1.0) if lower else Region(low=-1.0)
    return found


def of_estimate(stated: StatedClaim, cell: Region, cells: int) -> Region:
    """Return the values that the whole estimate can have."""
    if stated.share_in:
        found = SHARES
    elif stated.count_in:
        found = Region(0.0, float(cells))
    elif stated.rank_of:
        found = Region(1.0, float(cells + 1))  # the cells are its rivals
    elif stated.take == "spread":
        found = Region(low=1.0)
    else:
        found = cell
    if not (stated.minus or stated.minus_other):
        return found
    return Region(found.low - found.high, found.high - found.low)


def problems(key: str, region: Region, possible: Region, text: str) -> Iterator[TableProblem]:
    """Find a region that no value can meet, or that every value meets."""
    if not region.meets(possible.low, possible.high):
        reason = f"no estimate can lie in {text!r}: it is always {_described(possible)}"
        yield TableProblem((key,), reason, "correct the region or the estimate")
    elif region.contains_all(possible.low, possible.high):
        reason = f"every estimate lies in {text!r}, so that no result could contradict it"
        yield TableProblem((key,), reason, "narrow the region")


def _described(region: Region) -> str:
    if math.isinf(region.high):
        return f"at least {region.low:g}"
    if math.isinf(region.low):
        return f"at most {region.high:g}"
    return f"between {region.low:g} and {region.high:g}"
