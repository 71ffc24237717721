"""A file that httpbed did not record: its kind by its content, and what could be divided."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from httpbed.addons.explain import capture, explanation, windows
from httpbed.addons.explain.capture import CaptureError, Ending
from httpbed.addons.explain.explanation import Explained, Place, Unexplained
from httpbed.addons.explain.foreign import connections, one_sided
from httpbed.addons.explain.foreign import seen as places
from httpbed.addons.explain.foreign.one_sided import Side
from httpbed.addons.explain.foreign.seen import OneSidedError, Seen
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.roles import HttpVersion
from httpbed.programs.catalog import Catalog

Kind = Literal["capture", "qlog", "netlog", "HAR"]
SNIFFED_BYTES = 1 << 16
CAPTURES = (
    b"\x0a\x0d\x0d\x0a",
    *(
        number.to_bytes(4, order)
        for number in (0xA1B2C3D4, 0xA1B23C4D)
        for order in ("big", "little")
    ),
)
_KEYS: tuple[tuple[Kind, re.Pattern[bytes]], ...] = (
    ("qlog", re.compile(rb'"qlog_(version|format)"|"urn:ietf:params:qlog|"file_schema"')),
    ("netlog", re.compile(rb'"(logEventTypes|logSourceType|activeFieldTrialGroups|clientInfo)"')),
    ("HAR", re.compile(rb'"log"\s*:\s*\{')),
)
_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"\x28\xb5\x2f\xfd": "unzstd",
    b"PK": "unzip",
    b"BZ": "bunzip2",
}


@dataclass(frozen=True)
class Line:
    """A connection or a request of a file, for the list of all of them."""

    name: str
    protocol: str
    amount: int
    """Bytes from the server."""
    lasts: int
    """In ns."""


@dataclass(frozen=True)
class Evidence:
    """What a file says."""

    kind: Kind
    unit: str
    """What a line is: a connection, or a request."""
    lines: Sequence[Line]
    found: Sequence[Explained | Unexplained]
    notes: Sequence[str] = field(default_factory=tuple)
    http_version: HttpVersion | None = None
    """Of what was explained, as far as the file says."""


def kind_of(path: Path) -> Kind:
    """Return what a file is, by its first bytes.

    :raises ConfigError: when it is nothing that can be explained.
    """
    try:
        with path.open("rb") as file:
            head = file.read(SNIFFED_BYTES)
    except OSError as error:
        raise ConfigError([Mistake(str(path), f"cannot be read: {error.strerror}")]) from None
    if head[:4] in CAPTURES:
        return "capture"
    for magic, program in _COMPRESSED.items():
        if head.startswith(magic):
            raise ConfigError([Mistake(str(path), "is compressed", f"{program} it first")])
    for kind, pattern in _KEYS:
        if pattern.search(head):
            return kind
    if path.suffix.lower() == ".har":  # its reader says what is wrong, and where
        return "HAR"
    known = "a capture (pcapng, pcap), a qlog (.qlog, .sqlog), a netlog of Chrome, or a HAR file"
    what = "is empty" if not head else "is none of the files that can be explained"
    raise ConfigError([Mistake(str(path), what, f"give a campaign's folder, {known}")])


def of_capture(path: Path, catalog: Catalog, chosen: str | None, side: Side | None) -> Evidence:
    """Explain a connection of a capture: the one that ``chosen`` names, or the largest.

    :raises ConfigError: when the file is none, or has no such connection.
    """
    ending = Ending()
    try:
        with capture.mapped(path) as data:
            known = connections.survey(data, ending)
            connection = _chosen(path, known, chosen)
            packets = connections.packets_of(data, connection)
    except (CaptureError, OSError) as error:
        raise ConfigError([Mistake(str(path), str(error))]) from None
    notes = [*_capture_notes(ending)]
    place = Place(0, connection.name, {"connection": connection.name}, 1)
    ended = max(each.end for each in known)
    answer = explain(place, lambda: places.of_capture(packets, ended), side, catalog)
    lines = [
        Line(
            each.name,
            "QUIC or UDP" if each.is_quic else "TCP",
            each.server_bytes,
            each.end - each.begin,
        )
        for each in known
    ]
    version: HttpVersion = "3" if connection.is_quic else ("2" if packets.offers_http2 else "1.1")
    return Evidence("capture", "connection", lines, [answer], notes, version)


def _chosen(
    path: Path, known: list[connections.Connection], word: str | None
) -> connections.Connection:
    if not known:
        reason = "has no TCP or UDP packet with its headers"
        raise ConfigError([Mistake(str(path), reason, "capture with at least 120 bytes of each")])
    if word is None:
        return known[0]
    fitting = list(connections.chosen(known, word))
    if len(fitting) == 1:
        return fitting[0]
    place, reason = "--connection", f"no connection is {word!r}"
    if fitting:
        reason = f"{word!r} names {len(fitting)} connections"
    remedy = f"give a number from 1 to {len(known)}, or one end, as the list prints them"
    raise ConfigError([Mistake(place, reason, remedy)])


def _capture_notes(ending: Ending) -> list[str]:
    notes = []
    if ending.damage:
        notes.append(f"the capture is {ending.damage}; what follows was left out")
    if ending.dropped:
        notes.append(
            f"the capturing machine missed {ending.dropped} packets, which look lost: capture"
            " with a larger buffer"
        )
    return notes


def explain(
    place: Place, see: Callable[[], Seen], side: Side | None, catalog: Catalog
) -> Explained | Unexplained:
    """Explain what ``see`` returns of a connection, at one side of it."""
    try:
        transfer = one_sided.transfer(see(), side)
    except OneSidedError as error:
        return place.unexplained(error)
    versions: list[HttpVersion] = ["3"] if transfer.protocol == "quic" else ["2", "1.1"]
    outcome = "completed" if transfer.is_over else explanation.CUT_OFF
    known = windows.fingerprints(catalog, versions)
    return explanation.divided(place, outcome, transfer, versions[0], known)


def size_text(number: int) -> str:
    """Return bytes in words."""
    return units.format_size(number, units.SHORT_DIGITS)
