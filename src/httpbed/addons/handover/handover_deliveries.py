"""What each link delivered to the client, in bins of a millisecond, from the emulator's log.

All metrics of deliveries are exact to a bin. The kernel drops what arrives at an interface that has
lost its address. The file keeps such deliveries, and :func:`read` leaves them out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.addons.handover import handover_files
from httpbed.addons.handover.handover_files import DELIVERIES, Deliveries, DeliveryBin
from httpbed.base import untrusted_files
from httpbed.trial.addition import AbsencesNs

if TYPE_CHECKING:  # it imports numpy, and a run begins without it
    from httpbed.store.packet_log import PacketLog

BIN_NS = 10**6
STALLED_BYTES = 4000
"""Fewer bytes are no progress of a transfer: path validation (two datagrams of 1200 bytes, RFC 9000
section 8.2), tickets and handshakes of every protocol take less."""

Bins = Mapping[int, int]
"""IP bytes of each bin of :data:`BIN_NS` that is not empty."""


def reduce(artifacts: Path, log: PacketLog, towards: Mapping[int, str], origin_ns: int) -> None:
    """Write :data:`DELIVERIES` from the emulator's log.

    ``towards`` maps the directions that lead to the client to their links; ``origin_ns`` is the
    time of the client's first packet.
    """
    deliveries = Deliveries(origin_ns / BIN_NS, tuple(delivered(log, towards)))
    untrusted_files.write(artifacts, DELIVERIES, handover_files.deliveries_text(deliveries))


def delivered(log: PacketLog, towards: Mapping[int, str]) -> list[DeliveryBin]:
    """Count the bytes of each millisecond and link."""
    sizes: Counter[tuple[int, str]] = Counter()
    for direction, link in towards.items():
        own = log.where(log.left & (log.direction == direction))
        for bin_, size in zip(own.out_ns // BIN_NS, own.bytes, strict=True):
            sizes[int(bin_), link] += int(size)
    return [DeliveryBin(*where, size) for where, size in sorted(sizes.items())]


def read(artifacts: Path, absences: AbsencesNs) -> dict[str, dict[int, int]]:
    """Return the bins of each link that :func:`reduce` wrote; empty without a file.

    Leaves out deliveries at times when, by ``absences``, the link had no address.
    """
    kept = handover_files.read_deliveries(untrusted_files.own_text(artifacts / DELIVERIES))
    gone = {
        link: [(since / BIN_NS, until / BIN_NS) for since, until in spans]
        for link, spans in absences.items()
    }
    bins: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for one in handover_files.received(kept.rows, gone):
        bins[one.link][one.bin] = one.ip_bytes
    return dict(bins)


def together(links: Iterable[Bins]) -> dict[int, int]:
    """Add the bins of several links."""
    total: Counter[int] = Counter()
    for bins in links:
        total.update(bins)
    return dict(total)


def longest_below(least_bytes: int, bins: Bins, times: Sequence[int], begin: int, end: int) -> int:
    """Return the longest time, in bins, in which fewer than ``least_bytes`` bytes were delivered.

    ``times`` are those of ``bins``, ascending. The time lies between ``begin`` and ``end``, and
    begins and ends there or with a delivery outside it. With ``least_bytes`` 1 it is the longest
    silence.
    """
    inside = times[bisect_right(times, begin) : bisect_left(times, end)]
    edges = [begin, *inside, end]
    longest, size, last = 0, 0, 1
    for first in range(len(edges) - 1):
        if last <= first:
            last, size = first + 1, 0
        # ``size`` is what was delivered strictly between the two edges.
        while last < len(edges) - 1 and size + bins[edges[last]] < least_bytes:
            size += bins[edges[last]]
            last += 1
        longest = max(longest, edges[last] - edges[first])
        if last > first + 1:
            size -= bins[edges[first + 1]]
    return longest
