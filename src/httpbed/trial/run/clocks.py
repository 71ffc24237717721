"""Readings of two clocks at one time, for evidence that has times by both."""

from __future__ import annotations

import time
from collections.abc import Callable

READINGS = 5


def read_clocks(
    monotonic_ns: Callable[[], int] = time.monotonic_ns,
    realtime_ns: Callable[[], int] = time.time_ns,
) -> dict[str, int]:
    """Read CLOCK_MONOTONIC and CLOCK_REALTIME at one time, to convert times between them.

    Another process may get the CPU between two readings. So CLOCK_REALTIME is read between two
    readings of CLOCK_MONOTONIC, several times, and the closest pair counts.

    Returns:
        Both clocks, in ns, and ``within_ns``: how far apart the readings of the pair are.
    """
    readings = []
    for _ in range(READINGS):
        before, realtime, after = monotonic_ns(), realtime_ns(), monotonic_ns()
        readings.append((after - before, (before + after) // 2, realtime))
    within, monotonic, realtime = min(readings)
    return {"monotonic_ns": monotonic, "realtime_ns": realtime, "within_ns": within}
