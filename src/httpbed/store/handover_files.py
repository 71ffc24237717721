"""The files of an attempt with hand-overs: its deliveries and its events.

``deliveries.tsv`` has the IP bytes that each of the client's links delivered in each millisecond
since the emulator began (columns ``bin``, ``link``, ``bytes``; no empty bins), after a line with
the time of the client's first packet. It includes deliveries to an interface that had lost its
address, which the kernel drops; :func:`received` leaves them out. ``handovers.json`` has a
:class:`~httpbed.experiment.handover_event.HandoverEvent` of each hand-over.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from httpbed.experiment.handover_event import HandoverEvent

DELIVERIES = "deliveries.tsv"
HANDOVERS = "handovers.json"
BIN_S = 1e-3
_COLUMNS = ("bin", "link", "bytes")
_ORIGIN = "# origin_ms: "

Absences = Mapping[str, Sequence[tuple[float, float]]]
"""When each link had no address: from when until when, ascending, in bins."""


class DeliveryBin(NamedTuple):
    """What one link delivered in one millisecond."""

    bin: int
    link: str
    ip_bytes: int


@dataclass(frozen=True)
class Deliveries:
    """What was delivered to a client, from its first packet on."""

    origin: float
    """The client's first packet, in bins since the emulator began."""
    rows: tuple[DeliveryBin, ...]
    """Ascending."""


NO_DELIVERIES = Deliveries(0.0, ())


def deliveries_text(found: Deliveries) -> str:
    """Write :data:`DELIVERIES`."""
    rows = (f"{one.bin}\t{one.link}\t{one.ip_bytes}\n" for one in found.rows)
    return f"{_ORIGIN}{found.origin}\n" + "\t".join(_COLUMNS) + "\n" + "".join(rows)


def read_deliveries(text: str) -> Deliveries:
    """Read :data:`DELIVERIES`; what is damaged, or not there, is none at all.

    What came before the client's first packet, such as answers to ping, is not counted. Without
    the line that tells of it the first delivery is it.
    """
    lines = text.splitlines()
    try:
        said = lines.pop(0).removeprefix(_ORIGIN) if text.startswith(_ORIGIN) else None
        if tuple(lines.pop(0).split("\t")) != _COLUMNS:
            return NO_DELIVERIES
        rows = sorted(_row(line) for line in lines)
        origin = float(said) if said is not None else float(rows[0].bin)
    except (ValueError, IndexError):
        return NO_DELIVERIES
    return Deliveries(origin, tuple(one for one in rows if one.bin + 1 > origin))


def _row(line: str) -> DeliveryBin:
    bin_, link, size = line.split("\t")
    return DeliveryBin(int(bin_), link, int(size))


def received(rows: Iterable[DeliveryBin], absences: Absences) -> Iterator[DeliveryBin]:
    """Leave out what came over a link while it had no address, by the middle of each bin."""
    for one in rows:
        gone = absences.get(one.link, ())
        index = bisect_right(gone, one.bin + 0.5, key=lambda span: span[0]) - 1
        if index < 0 or one.bin + 0.5 >= gone[index][1]:
            yield one


def absences(
    moments: Iterable[HandoverEvent], origin: float
) -> dict[str, list[tuple[float, float]]]:
    """Say by the moments of an attempt when its links had no address."""
    found: dict[str, list[tuple[float, float]]] = {}
    for one in moments:
        if one.gone_s is not None:
            back = float("inf") if one.back_s is None else origin + one.back_s / BIN_S
            found.setdefault(one.left, []).append((origin + one.gone_s / BIN_S, back))
    return {link: sorted(spans) for link, spans in found.items()}


def moments_text(moments: Iterable[HandoverEvent]) -> str:
    """Write :data:`HANDOVERS`."""
    return json.dumps([one.model_dump(by_alias=True) for one in moments], indent=1) + "\n"


def read_moments(text: str) -> list[HandoverEvent]:
    """Read :data:`HANDOVERS`, as far as it can be."""
    try:
        said = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return list(_moments(said if isinstance(said, list) else []))


def _moments(said: Iterable[Any]) -> Iterator[HandoverEvent]:
    for one in said:
        try:
            yield HandoverEvent.model_validate(one)
        except ValidationError:
            continue
