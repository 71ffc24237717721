"""A file that httpbed did not record: its kind by its content, and what could be divided."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from httpbed.addons.explain import capture, explanation, qlog_trace, windows
from httpbed.addons.explain.capture import CaptureError, Ending
from httpbed.addons.explain.explanation import Explained, Place
from httpbed.addons.explain.foreign import connections, one_sided
from httpbed.addons.explain.foreign import seen as places
from httpbed.addons.explain.foreign.one_sided import Side
from httpbed.addons.explain.foreign.seen import OneSidedError, Seen
from httpbed.addons.explain.qlog_trace import QlogError
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
    lines: Sequence[Line]
    answer: Explained
    """Of the line that was chosen, or of the largest."""
    notes: Sequence[str]
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
    answer = _explained(path, place, lambda: places.of_capture(packets, ended), side, catalog)
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
    return Evidence("capture", lines, answer, notes, version)


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


def of_qlog(path: Path, catalog: Catalog, chosen: str | None) -> Evidence:
    """Explain the connection of a qlog.

    :raises ConfigError: when it is of another version, or damaged at its beginning.
    """
    if chosen:
        raise ConfigError([Mistake("--connection", "a qlog has one connection", "leave it out")])
    try:
        with path.open("rb") as file:
            trace = qlog_trace.read(file)
    except QlogError as error:
        raise ConfigError([Mistake(str(path), str(error), error.remedy)]) from None
    except OSError as error:
        raise ConfigError([Mistake(str(path), f"cannot be read: {error.strerror}")]) from None
    name = f"the connection of {path.name}"
    place = Place(0, name, {"connection": path.name}, 1)
    side: Side = "server" if trace.is_server else "client"
    answer = _explained(path, place, lambda: places.of_qlog(trace), side, catalog)
    data = trace.sent if trace.is_server else trace.received
    lasts = max((packet.at for packet in (*trace.sent, *trace.received)), default=0)
    line = Line(path.name, "QUIC", sum(packet.size for packet in data), lasts)
    notes = [f"{trace.damage}; what follows was left out"] if trace.damage else []
    return Evidence("qlog", [line], answer, notes, "3")


def _explained(
    path: Path, place: Place, see: Callable[[], Seen], side: Side | None, catalog: Catalog
) -> Explained:
    """Explain what ``see`` returns of a connection, at one side of it."""
    try:
        transfer = one_sided.transfer(see(), side)
    except OneSidedError as error:
        raise ConfigError([Mistake(str(path), f"{place.trial}: {error}")]) from None
    versions: list[HttpVersion] = ["3"] if transfer.protocol == "quic" else ["2", "1.1"]
    outcome = "completed" if transfer.is_over else explanation.CUT_OFF
    known = windows.fingerprints(catalog, versions)
    return explanation.divided(place, outcome, transfer, versions[0], known)
