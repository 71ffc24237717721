"""The deliveries of an attempt with hand-overs.

``deliveries.tsv`` contains the IP bytes that each of the client's links delivered in each
millisecond since the emulator's start (columns ``bin``, ``link``, ``bytes``; without empty bins).
Its first line has the time of the client's first packet. It also counts packets to an interface
without an address, which the kernel drops; :func:`received` leaves them out.
``handovers.json`` is the store's (:mod:`httpbed.store.attempts`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from httpbed.experiment.handover import HandoverEvent

DELIVERIES = "deliveries.tsv"
BIN_S = 1e-3
_COLUMNS = ("bin", "link", "bytes")
_ORIGIN = "# origin_ms: "

Absences = Mapping[str, Sequence[tuple[float, float]]]
"""Intervals in bins in which each link had no address, ascending."""


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


NO_DELIVERIES = Deliveries(0.0, ())


def deliveries_text(found: Deliveries) -> str:
    """Return the text of :data:`DELIVERIES`."""
    rows = (f"{one.bin}\t{one.link}\t{one.ip_bytes}\n" for one in found.rows)
    return f"{_ORIGIN}{found.origin}\n" + "\t".join(_COLUMNS) + "\n" + "".join(rows)


def read_deliveries(text: str) -> Deliveries:
    """Parse :data:`DELIVERIES`; a missing or damaged text has no deliveries.

    Packets before the client's first one, such as ping replies, are not counted. Without the line
    with its time, the first delivery counts as the client's first packet.
    """
    lines = text.splitlines()
    try:
        origin_text = lines.pop(0).removeprefix(_ORIGIN) if text.startswith(_ORIGIN) else None
        if tuple(lines.pop(0).split("\t")) != _COLUMNS:
            return NO_DELIVERIES
        rows = sorted(_row(line) for line in lines)
        origin = float(origin_text) if origin_text is not None else float(rows[0].bin)
    except (ValueError, IndexError):
        return NO_DELIVERIES
    return Deliveries(origin, tuple(one for one in rows if one.bin + 1 > origin))


def _row(line: str) -> DeliveryBin:
    bin_, link, size = line.split("\t")
    return DeliveryBin(int(bin_), link, int(size))


def received(rows: Iterable[DeliveryBin], absences: Absences) -> Iterator[DeliveryBin]:
    """Yield deliveries except those in bins in whose middle the link had no address."""
    for one in rows:
        gone = absences.get(one.link, ())
        index = bisect_right(gone, one.bin + 0.5, key=lambda span: span[0]) - 1
        if index < 0 or one.bin + 0.5 >= gone[index][1]:
            yield one


def absences(
    events: Iterable[HandoverEvent], origin: float
) -> dict[str, list[tuple[float, float]]]:
    """Return when an attempt's links had no address, according to its events."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in events:
        if one.gone_s is not None:
            back = float("inf") if one.back_s is None else origin + one.back_s / BIN_S
            found.setdefault(one.left, []).append((origin + one.gone_s / BIN_S, back))
    return {link: sorted(spans) for link, spans in found.items()}
