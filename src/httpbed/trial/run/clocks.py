"""Both clocks of the kernel at one moment, so that times by the one can be told by the other.

They are read one after the other, and between two readings somebody else may get the CPU. So
CLOCK_MONOTONIC is read before CLOCK_REALTIME and after it, some times, and the closest pair counts:
CLOCK_REALTIME is then known to half of the time between.
"""

from __future__ import annotations

import time
from collections.abc import Callable

READINGS = 5


def read(
    monotonic_ns: Callable[[], int] = time.monotonic_ns,
    realtime_ns: Callable[[], int] = time.time_ns,
) -> dict[str, int]:
    """Return both clocks, in ns, and for how long at most they were apart (``within_ns``)."""
    found = []
    for _ in range(READINGS):
        before, realtime, after = monotonic_ns(), realtime_ns(), monotonic_ns()
        found.append((after - before, (before + after) // 2, realtime))
    within, monotonic, realtime = min(found)
    return {"monotonic_ns": monotonic, "realtime_ns": realtime, "within_ns": within}
