"""The fastest stretch of a load, from the times of requests and responses in a HAR file.

All bytes of a response arrive between its request and its end. So a window contains at least the
bytes of all responses that were requested and ended within it, however they shared the link. A
token bucket passes a burst faster than its rate, and a browser's clock is coarse: both are allowed
for before a rate is certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALLOWANCE_BYTES = 2**16
"""Bytes of a burst: twice the bucket of common set-ups (32 kB)."""
FEWEST_BYTES = 4 * ALLOWANCE_BYTES
"""Bytes in a window whose rate is reported; with fewer, bursts and slow start dominate."""
CLOCK_S = 0.001
MOST_TRANSFERS = 5000
"""The largest transfers are examined; all pairs of their times are windows."""


@dataclass(frozen=True)
class Transfer:
    """A response's transfer: seconds since the navigation, and bytes as sent."""

    start_s: float
    end_s: float
    bytes: int
    entry: int
    """Its place in the file."""


@dataclass(frozen=True)
class Stretch:
    """A window of time, and the bytes that certainly arrived within it."""

    start_s: float
    end_s: float
    bytes: int
    bit_s: float
    """The rate that it takes; of :func:`beyond_a_burst`, a burst left out."""
    entries: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end_s - self.start_s


def fastest(transfers: Sequence[Transfer]) -> Stretch | None:
    """Return the window with the highest rate; None where none has :data:`FEWEST_BYTES`."""
    return _best(transfers, fewest=FEWEST_BYTES, burst=0)


def beyond_a_burst(transfers: Sequence[Transfer]) -> Stretch | None:
    """Return the window that takes the highest rate even if a burst came at once."""
    return _best(transfers, fewest=ALLOWANCE_BYTES + 1, burst=ALLOWANCE_BYTES)


def _best(transfers: Sequence[Transfer], *, fewest: int, burst: int) -> Stretch | None:
    largest = sorted(transfers, key=lambda one: one.bytes, reverse=True)[:MOST_TRANSFERS]
    by_end = sorted(largest, key=lambda one: one.end_s)
    starts = np.array([one.start_s for one in by_end])
    ends = np.array([one.end_s for one in by_end])
    sizes = np.array([one.bytes for one in by_end], dtype=float)
    best = (0.0, 0.0, 0.0)
    for start in np.unique(starts):
        total = np.cumsum(np.where(starts >= start, sizes, 0.0))
        is_window = (ends >= start) & (total >= fewest)
        rate = np.where(is_window, (total - burst) / (ends - start + CLOCK_S), 0.0)
        at = int(rate.argmax())
        best = max(best, (float(rate[at]) * 8, float(start), float(ends[at])))
    bit_s, start_s, end_s = best
    if not bit_s:
        return None
    within = [one for one in by_end if one.start_s >= start_s and one.end_s <= end_s]
    total_bytes = sum(one.bytes for one in within)
    return Stretch(start_s, end_s, total_bytes, bit_s, tuple(one.entry for one in within))
