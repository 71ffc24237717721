"""What each link delivered to the client, in bins of a millisecond, from the emulator's log.

All metrics of deliveries are exact to a bin. ``deliveries.tsv`` contains the IP bytes that each of
the client's links delivered in each millisecond since the emulator's start (columns ``bin``,
``link``, ``bytes``; without empty bins). Its first line has the time of the client's first packet.
It also counts packets to an interface without an address, which the kernel drops; :func:`received`
leaves them out. ``handovers.json`` is the store's (:mod:`httpbed.store.attempts`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from httpbed.base import untrusted_files
from httpbed.experiment.trial import HandoverEvent

if TYPE_CHECKING:
    from httpbed.store.packet_log import PacketLog
    from httpbed.trial.evidence import AbsencesNs


DELIVERIES = "deliveries.tsv"
BIN_NS, BIN_S = 10**6, 1e-3
STALLED_BYTES = 4000
"""Fewer bytes are no progress of a transfer: path validation (two datagrams of 1200 bytes, RFC 9000
section 8.2), tickets and handshakes of every protocol take less."""
_COLUMNS = ("bin", "link", "bytes")
_ORIGIN = "# origin_ms: "

Absences = Mapping[str, Sequence[tuple[float, float]]]
"""Intervals in bins in which each link had no address, ascending."""
Bins = Mapping[int, int]
"""IP bytes of each bin that is not empty."""


class DeliveryBin(NamedTuple):
    """The bytes that one link delivered in one millisecond."""

    bin: int
    link: str
    ip_bytes: int


@dataclass(frozen=True)
class Deliveries:
    """Deliveries to a client from its first packet on."""

    origin: float
    """Time of the client's first packet, in bins since the emulator's start."""
    rows: tuple[DeliveryBin, ...]
    """In ascending order."""


def reduce(artifacts: Path, log: PacketLog, towards: Mapping[int, str], origin_ns: int) -> None:
    """Write :data:`DELIVERIES` from the emulator's log.

    ``towards`` maps the directions that lead to the client to their links; ``origin_ns`` is the
    time of the client's first packet.
    """
    sizes = log.delivered_bytes(BIN_NS).items()
    rows = sorted(
        DeliveryBin(bin_, towards[direction], size)
        for (direction, bin_), size in sizes
        if direction in towards
    )
    lines = (f"{row.bin}\t{row.link}\t{row.ip_bytes}\n" for row in rows)
    head = f"{_ORIGIN}{origin_ns / BIN_NS}\n" + "\t".join(_COLUMNS) + "\n"
    untrusted_files.write(artifacts, DELIVERIES, head + "".join(lines))


def read_deliveries(text: str) -> Deliveries:
    """Parse :data:`DELIVERIES`; a missing or damaged text has no deliveries.

    Packets before the client's first one, such as ping replies, are not counted. Without the line
    with its time, the first delivery counts as the client's first packet.
    """
    lines = text.splitlines()
    try:
        origin_text = lines.pop(0).removeprefix(_ORIGIN) if text.startswith(_ORIGIN) else None
        if tuple(lines.pop(0).split("\t")) != _COLUMNS:
            return Deliveries(0.0, ())
        rows = sorted(_row(line) for line in lines)
        origin = float(origin_text) if origin_text is not None else float(rows[0].bin)
    except (ValueError, IndexError):
        return Deliveries(0.0, ())
    return Deliveries(origin, tuple(row for row in rows if row.bin + 1 > origin))


def _row(line: str) -> DeliveryBin:
    bin_, link, size = line.split("\t")
    return DeliveryBin(int(bin_), link, int(size))


def received(rows: Iterable[DeliveryBin], absences: Absences) -> Iterator[DeliveryBin]:
    """Yield deliveries except those in bins in whose middle the link had no address."""
    for delivery in rows:
        gone = absences.get(delivery.link, ())
        index = bisect_right(gone, delivery.bin + 0.5, key=lambda span: span[0]) - 1
        if index < 0 or delivery.bin + 0.5 >= gone[index][1]:
            yield delivery


def absences(
    events: Iterable[HandoverEvent], origin: float
) -> dict[str, list[tuple[float, float]]]:
    """Return when an attempt's links had no address, according to its events."""
    absences: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        if event.gone_s is not None:
            back = float("inf") if event.back_s is None else origin + event.back_s / BIN_S
            absences.setdefault(event.left, []).append((origin + event.gone_s / BIN_S, back))
    return {link: sorted(spans) for link, spans in absences.items()}


def read(artifacts: Path, absences: AbsencesNs) -> dict[str, dict[int, int]]:
    """Return the bins of each link that :func:`reduce` wrote; empty without a file.

    Leaves out deliveries at times when, by ``absences``, the link had no address.
    """
    kept = read_deliveries(untrusted_files.own_text(artifacts / DELIVERIES))
    gone = {
        link: [(since / BIN_NS, until / BIN_NS) for since, until in spans]
        for link, spans in absences.items()
    }
    bins: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for delivery in received(kept.rows, gone):
        bins[delivery.link][delivery.bin] = delivery.ip_bytes
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
