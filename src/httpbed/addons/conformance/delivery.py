"""Times of delivery of the first bytes, which decide how long short flows take.

Bytes are those of IP packets that leave the emulator towards the receiver, from the connection's
first packet on, retransmissions included.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from httpbed.addons.conformance.flight import Flight
from httpbed.addons.conformance.packets import Floats


def delivered(flight: Flight) -> tuple[Floats, Floats]:
    """Return the times of delivery in seconds, and the total bytes delivered at each time."""
    left = flight.packets.left_s
    arrived = np.flatnonzero(~np.isnan(left))
    order = arrived[np.argsort(left[arrived], kind="stable")]
    return left[order], np.cumsum(flight.packets.bytes[order]).astype(np.float64)


def time_s(flight: Flight, size: int) -> float | None:
    """Seconds from the connection's first packet until ``size`` bytes are delivered, or None."""
    times, total = delivered(flight)
    index = int(np.searchsorted(total, size))
    return float(times[index]) + flight.request_delay_s if index < len(times) else None


def median_time_s(flights: Sequence[Flight], size: int) -> float | None:
    """Median of :func:`time_s` in seconds; None if a transfer delivered fewer bytes."""
    times = [time_s(flight, size) for flight in flights]
    known = [one for one in times if one is not None]
    return median(known) if known and len(known) == len(times) else None
