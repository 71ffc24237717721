"""What had been delivered when: short flows are decided by the first round trips.

Counted are bytes of IP packets as they left the emulator towards the receiver, from the first
packet of the connection on, retransmissions among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from httpbed.analysis.sender.flight import Flight
from httpbed.analysis.sender.packets import Floats


def delivered(flight: Flight) -> tuple[Floats, Floats]:
    """Return times of delivery, in seconds, and the bytes delivered by then."""
    left = flight.packets.left_s
    arrived = np.flatnonzero(~np.isnan(left))
    order = arrived[np.argsort(left[arrived], kind="stable")]
    return left[order], np.cumsum(flight.packets.bytes[order]).astype(np.float64)


def time_s(flight: Flight, size: int) -> float | None:
    """Seconds from the connection's first packet until ``size`` bytes had been delivered."""
    times, total = delivered(flight)
    index = int(np.searchsorted(total, size))
    return float(times[index]) + flight.request_delay_s if index < len(times) else None


def median_time_s(flights: Sequence[Flight], size: int) -> float | None:
    """Seconds as the median of several transfers; None if one of them did not deliver as much."""
    times = [time_s(flight, size) for flight in flights]
    known = [one for one in times if one is not None]
    return median(known) if known and len(known) == len(times) else None
