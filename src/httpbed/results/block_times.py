"""Blocks that ran in parts: a pause between their trials, because a run broke off or a block grew.

Comparisons are made within a block because its trials share the state of the machine. A pause of an
hour or more weakens that.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise

from httpbed.store.results import Results

LEAST_PAUSE_S = 3600.0


def pauses_s(results: Results) -> dict[int, float]:
    """Return the longest pause between trials of a block, of each block that has a long one."""
    times = defaultdict[int, list[tuple[datetime, datetime]]](list)
    for row in results.last_attempts:
        if row["outcome"] != "invalid":
            began = datetime.fromisoformat(row["started"])
            times[row["block"]].append((began, began + timedelta(seconds=row["wall_s"])))
    found = {block: _longest_s(sorted(spans)) for block, spans in sorted(times.items())}
    return {block: pause for block, pause in found.items() if pause >= LEAST_PAUSE_S}


def _longest_s(spans: list[tuple[datetime, datetime]]) -> float:
    pauses = (after[0] - before[1] for before, after in pairwise(spans))
    return max((pause.total_seconds() for pause in pauses), default=0.0)
