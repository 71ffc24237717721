"""Reads a qlog of QUIC: what one end of a connection sent, got and declared lost, with its frames.

Versions 0.3 and later are read, as text sequences (.sqlog) and as one object (.qlog). Events are
decoded one at a time, so that a file may be larger than memory. Packet numbers and acknowledgements
take the place of TCP's numbers; MAX_DATA and MAX_STREAM_DATA that of its window, which is then
seen and not inferred.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from httpbed.addons.explain.explanation import Explained, Place, Unexplained
from httpbed.addons.explain.foreign import evidence_file, one_sided
from httpbed.addons.explain.foreign.connections import MAX_PACKETS
from httpbed.addons.explain.foreign.evidence_file import Evidence, Line
from httpbed.addons.explain.foreign.seen import FAR, Half, OneSidedError, Seen
from httpbed.addons.explain.transfer import Numbers
from httpbed.base.errors import ConfigError, Mistake
from httpbed.programs.catalog import Catalog

MS = 1_000_000
HEAD = 1 << 20
"""Characters at both ends of a file in which it describes itself."""
PART = 1 << 20
MAX_EVENT = 1 << 24
"""Characters of an event; a longer one is damage."""
UDP_HEADERS = 28
USUAL_BYTES = 1252
BETWEEN = " \t\r\n,\x1e"
_VANTAGE = re.compile(r'"vantage_point"\s*:\s*\{[^}]*"type"\s*:\s*"(client|server)"')
_VERSION = re.compile(r'"qlog_version"\s*:\s*"([^"]{1,40})"')
_SCHEMA = re.compile(r'"file_schema"\s*:\s*"')
_DELTA = re.compile(r'"time_format"\s*:\s*"(delta|relative_to_previous_event)"')
_READ = re.compile(r"0\.([3-9]|[1-9][0-9])")


@dataclass
class _Packet:
    at: int
    number: int
    """-1 outside of the application's packets."""
    size: int
    acknowledged: int = -1
    """The largest number that it acknowledges."""
    ends: dict[int, int] = field(default_factory=dict)
    """Where each stream is behind it."""
    limits: dict[int, int] = field(default_factory=dict)
    """The limit of each stream that it sets; -1 for the connection's."""


@dataclass
class _Trace:
    sent: list[_Packet] = field(default_factory=list)
    received: list[_Packet] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)
    """The client's transport parameters."""
    is_cut: bool = False
    damage: str = ""


def read(path: Path, catalog: Catalog, chosen: str | None) -> Evidence:
    """Explain the connection of a qlog.

    :raises ConfigError: when it is of another version, or damaged at its beginning.
    """
    if chosen:
        raise ConfigError([Mistake("--connection", "a qlog has one connection")])
    try:
        about = _ends(path)
        _require_known(path, about)
        vantage = _VANTAGE.search(about)
        if vantage is None:
            reason = "does not say whether a client or a server wrote it"
            raise ConfigError([Mistake(str(path), reason)])
        is_server = vantage[1] == "server"
        trace = _trace(path, is_server=is_server, is_delta=bool(_DELTA.search(about)))
    except OSError as error:
        raise ConfigError([Mistake(str(path), f"cannot be read: {error.strerror}")]) from None
    name = f"the connection of {path.name}"
    place = Place(0, name, {"connection": path.name})
    found: Explained | Unexplained
    try:
        seen = _seen(trace, is_server=is_server)
        side: one_sided.Side = "server" if is_server else "client"
        found = evidence_file.of_transfer(place, one_sided.transfer(seen, side), catalog)
    except OneSidedError as error:
        found = Unexplained(0, name, place.levels, str(error))
    data = trace.sent if is_server else trace.received
    lasts = max((one.at for one in (*trace.sent, *trace.received)), default=0)
    line = Line(path.name, "QUIC", sum(one.size for one in data), lasts)
    notes = [f"{trace.damage}; what follows was left out"] if trace.damage else []
    return Evidence("qlog", "connection", [line], [found], notes, "3")


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(HEAD)
        size = file.seek(0, 2)
        file.seek(max(len(head), size - HEAD))
        return (head + file.read(HEAD)).decode(errors="replace")


def _require_known(path: Path, about: str) -> None:
    version = _VERSION.search(about)
    if _SCHEMA.search(about) or (version and _READ.fullmatch(version[1])):
        return
    said = f"version {version[1]}" if version else "no version"
    reason = f"is a qlog of {said}; 0.3 and later are read"
    raise ConfigError([Mistake(str(path), reason, "record it with a newer library")])


# Events


def _trace(path: Path, *, is_server: bool, is_delta: bool) -> _Trace:
    trace, first, now = _Trace(), None, 0.0
    client_is = "remote" if is_server else "local"
    with path.open(encoding="utf-8", errors="replace") as file:
        for event in _events(file, trace):
            try:
                time = float(event["time"])
                now = now + time if is_delta else time
                first = now if first is None else first
                _take(trace, event, round((now - first) * MS), client_is)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
                trace.damage = trace.damage or "an event is damaged"
                continue
            if len(trace.sent) + len(trace.received) >= MAX_PACKETS:
                trace.is_cut = True
                break
    return trace


def _events(file: TextIO, trace: _Trace) -> Iterator[Mapping[str, Any]]:
    """Yield objects that have a time and a name, those of the first trace."""
    text, decoder = file.read(PART), json.JSONDecoder()
    begin = re.search(r'"events"\s*:\s*\[', text)
    place = begin.end() if begin else 0
    while True:
        while place < len(text) and text[place] in BETWEEN:
            place += 1
        if place < len(text) and text[place] == "]":
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            more = file.read(PART)
            text, place = text[place:] + more, 0
            if more and len(text) <= MAX_EVENT:
                continue
            if text.strip(BETWEEN):
                trace.damage = "the qlog is cut off or damaged"
            return
        if isinstance(value, Mapping) and "time" in value and "name" in value:
            yield value


def _take(trace: _Trace, event: Mapping[str, Any], at: int, client_is: str) -> None:
    name = str(event["name"]).rpartition(":")[2]
    data = event.get("data") or {}
    if name in {"packet_sent", "packet_received"}:
        kept = trace.sent if name == "packet_sent" else trace.received
        kept.append(_packet(data, at))
    elif name == "packet_lost":
        header = data.get("header") or data
        if _is_application(header):
            trace.lost.add(int(header["packet_number"]))
    elif name == "parameters_set" and data.get("owner", client_is) == client_is:
        for key, value in data.items():
            if key.startswith("initial_max") and isinstance(value, int):
                trace.limits[key] = value


def _is_application(header: Mapping[str, Any]) -> bool:
    return str(header.get("packet_type", "")).lower() in {"1rtt", "0rtt"}


def _packet(data: Mapping[str, Any], at: int) -> _Packet:
    header, raw = data.get("header") or {}, data.get("raw") or {}
    size = raw.get("length") or raw.get("payload_length") or header.get("packet_size")
    number = header.get("packet_number")
    own = number if _is_application(header) and isinstance(number, int) else -1
    packet = _Packet(at, own, int(size or USUAL_BYTES))
    for frame in data.get("frames") or ():
        _take_frame(packet, frame)
    return packet


def _take_frame(packet: _Packet, frame: Mapping[str, Any]) -> None:
    kind = frame.get("frame_type")
    if kind == "stream":
        length = frame.get("length", (frame.get("raw") or {}).get("payload_length", 0))
        stream = int(frame["stream_id"])
        end = int(frame.get("offset", 0)) + int(length)
        packet.ends[stream] = max(packet.ends.get(stream, 0), end)
    elif kind == "ack" and packet.number >= 0:
        ranges = frame.get("acked_ranges") or []
        packet.acknowledged = max((int(one[-1]) for one in ranges), default=-1)
    elif kind == "max_data":
        packet.limits[-1] = int(frame["maximum"])
    elif kind == "max_stream_data":
        packet.limits[int(frame["stream_id"])] = int(frame["maximum"])


# What this end saw


def _seen(trace: _Trace, *, is_server: bool) -> Seen:
    data = trace.sent if is_server else trace.received
    answers = trace.received if is_server else trace.sent
    if not data or not answers:
        raise OneSidedError("it has packets of one direction only")
    data, lost = _with_lost(trace, data, is_server=is_server)
    numbers = np.array([one.number for one in data], dtype=np.int64)
    sizes = np.array([one.size for one in data], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    behind = np.cumsum(sizes[order])
    first = np.zeros(len(data), dtype=np.int64)
    first[order] = behind - sizes[order]
    known = np.array([one.acknowledged for one in answers], dtype=np.int64)
    count = np.searchsorted(numbers[order], known, side="right")
    acknowledged = np.where(known >= 0, np.concatenate([[0], behind])[count], 0)
    ends, edges = _credit(trace, data, answers)
    remarks = [f"its first {MAX_PACKETS} packets"] if trace.is_cut else []
    return Seen(
        protocol="quic",
        data=_half(data, first, np.zeros_like(first), ends),
        answers=_half(answers, np.zeros_like(known), np.maximum.accumulate(acknowledged), edges),
        request=_request(answers),
        handshake=_handshake(trace, is_server=is_server),
        ends=True,
        remarks=tuple(remarks),
        lost=lost,
        has_credit=bool((edges < FAR).any()),
    )


def _half(packets: list[_Packet], first: Numbers, known: Numbers, edge: Numbers) -> Half:
    at = np.array([one.at for one in packets], dtype=np.int64)
    size = np.array([one.size for one in packets], dtype=np.int64)
    none = np.full(len(packets), -1, dtype=np.int64)
    return Half(at, size + UDP_HEADERS, size, first, known, edge, none, none)


def _with_lost(
    trace: _Trace, data: list[_Packet], *, is_server: bool
) -> tuple[list[_Packet], np.ndarray]:
    """Return the data with what was lost on its way to a client: the numbers that never came."""
    if is_server:
        return data, np.array([one.number in trace.lost for one in data], dtype=bool)
    came = {one.number for one in data}
    made, lost, newest = list[_Packet](), list[bool](), -1
    for one in data:
        for number in range(newest + 1, one.number) if newest >= 0 else ():
            if number not in came:
                made.append(_Packet(one.at, number, one.size))
                lost.append(True)
        newest = max(newest, one.number)
        made.append(one)
        lost.append(False)
    return made, np.array(lost, dtype=bool)


def _request(answers: list[_Packet]) -> int | None:
    """Return when the client's first stream of its own passed."""
    return next((one.at for one in answers if any(key % 4 == 0 for key in one.ends)), None)


def _handshake(trace: _Trace, *, is_server: bool) -> tuple[int, int] | None:
    if is_server:
        return None
    later = [one.at for one in trace.received if one.at >= trace.sent[0].at]
    return (later[0] - trace.sent[0].at, 0) if later else None


def _credit(trace: _Trace, data: list[_Packet], answers: list[_Packet]) -> tuple[Numbers, Numbers]:
    """Return where the main stream is behind each packet of data, and its limit by each answer.

    The connection's limit counts as one of that stream, less what other streams have sent.
    """
    totals = dict[int, int]()
    for one in data:
        for stream, end in one.ends.items():
            totals[stream] = max(totals.get(stream, 0), end)
    main = max((key for key in totals if key % 4 == 0), key=lambda key: totals[key], default=-1)
    others = sum(end for stream, end in totals.items() if stream != main)
    own = trace.limits.get("initial_max_stream_data_bidi_local", FAR)
    shared = trace.limits.get("initial_max_data", FAR)
    edges = np.full(len(answers), FAR, dtype=np.int64)
    for place, one in enumerate(answers):
        own = max(own, one.limits.get(main, 0)) if own < FAR else own
        shared = max(shared, one.limits.get(-1, 0)) if shared < FAR else shared
        edges[place] = min(own, shared - others)
    ends = np.array([one.ends.get(main, 0) for one in data], dtype=np.int64)
    return np.maximum.accumulate(ends), edges
