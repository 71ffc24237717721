"""The attempts that count, which of them are typical, and pauses between those of a block.

Comparisons are made within a block because its trials share the state of the machine. A pause of an
hour or more, because a run broke off or a block grew, weakens that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from httpbed.store.results import Results

AttemptRow = Mapping[str, Any]


def valid(results: Results) -> list[dict[str, Any]]:
    """Return the rows of the attempts that count and whose bed held, by block and position."""
    rows = [row for row in results.last_attempts if row["outcome"] != "invalid"]
    return sorted(rows, key=lambda row: (row["block"], row["position"]))


def typical(
    rows: Sequence[AttemptRow], values: Mapping[tuple[str, int], float]
) -> list[AttemptRow]:
    """Order rows by the distance of their value to the median; rows without a value come last."""
    known = [value for row in rows if (value := value_of(row, values)) is not None]
    middle = float(np.median(known)) if known else 0.0

    def distance(row: AttemptRow) -> tuple[float, int]:
        value = value_of(row, values)
        return (float("inf") if value is None else abs(value - middle), row["block"])

    return sorted(rows, key=distance)


def value_of(row: AttemptRow, values: Mapping[tuple[str, int], float]) -> float | None:
    """Return an attempt's value among those by trial and attempt; None if it has none."""
    return values.get((row["trial"], row["attempt"]))


MIN_PAUSE_S = 3600.0


def pauses_s(results: Results) -> dict[int, float]:
    """Return the longest pause between trials of a block, of each block that has a long one."""
    times = defaultdict[int, list[tuple[datetime, datetime]]](list)
    for row in results.last_attempts:
        if row["outcome"] != "invalid":
            began = datetime.fromisoformat(row["started"])
            times[row["block"]].append((began, began + timedelta(seconds=row["wall_s"])))
    found = {block: _longest_s(sorted(spans)) for block, spans in sorted(times.items())}
    return {block: pause for block, pause in found.items() if pause >= MIN_PAUSE_S}


def _longest_s(spans: list[tuple[datetime, datetime]]) -> float:
    pauses = (after[0] - before[1] for before, after in pairwise(spans))
    return max((pause.total_seconds() for pause in pauses), default=0.0)
