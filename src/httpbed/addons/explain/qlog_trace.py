"""Events of a qlog of QUIC: packets that one end sent, got and declared lost, with their frames.

Versions 0.3 and later are read, as text sequences (.sqlog) and as one object (.qlog). Events are
decoded one at a time, so that a file may be larger than memory.

Of a trial with packets, each logged packet is joined to the datagram of its size that passed its
host at its time. So the windows of its transfer are seen and not inferred.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from httpbed.addons.explain.transfer import FAR, MAX_PACKETS, Numbers, Sent, Transfer
from httpbed.base import untrusted_files
from httpbed.base.untrusted_files import UnreadableError
from httpbed.experiment.kept import QLOG_ENDINGS
from httpbed.experiment.workload import Sender

MS = 1_000_000
HEAD = 1 << 20
"""Characters at both ends of a file in which it describes itself."""
PART = 1 << 20
MAX_EVENT = 1 << 24
"""Characters of an event; a longer one is damage."""
USUAL_BYTES = 1252
BETWEEN = " \t\r\n,\x1e"
_VANTAGE = re.compile(r'"vantage_point"\s*:\s*\{[^}]*"type"\s*:\s*"(client|server)"')
_VERSION = re.compile(r'"qlog_version"\s*:\s*"([^"]{1,40})"')
_SCHEMA = re.compile(r'"file_schema"\s*:\s*"')
_DELTA = re.compile(r'"time_format"\s*:\s*"(delta|relative_to_previous_event)"')
_READ = re.compile(r"0\.([3-9]|[1-9][0-9])")


class QlogError(ValueError):
    """A file is not read; the reason is a part of a sentence, and the remedy may be empty."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass
class Packet:
    """A packet as one end logged it."""

    at: int
    """When, in ns since the first event."""
    number: int
    """-1 outside of the application's packets."""
    size: int
    acknowledged: int = -1
    """The largest number that it acknowledges."""
    ends: dict[int, int] = field(default_factory=dict)
    """Where each stream is behind it."""
    limits: dict[int, int] = field(default_factory=dict)
    """The limit of each stream that it sets; -1 for the connection's."""
    blocked: list[str] = field(default_factory=list)
    """The names of its frames by which its sender says that a limit holds it."""


@dataclass
class Trace:
    """What one end logged of a connection."""

    is_server: bool
    """Whether the server wrote it."""
    sent: list[Packet] = field(default_factory=list)
    received: list[Packet] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    limits: dict[Sender, dict[str, int]] = field(
        default_factory=lambda: {"client": {}, "server": {}}
    )
    """The transport parameters of each end that limit data."""
    is_cut: bool = False
    damage: str = ""


def read(file: BinaryIO) -> Trace:
    """Read a qlog.

    :raises OSError: when the file cannot be read.
    :raises QlogError: when it is of another version, or does not say who wrote it.
    """
    about = _described(file)
    version = _VERSION.search(about)
    if not _SCHEMA.search(about) and not (version and _READ.fullmatch(version[1])):
        said = f"version {version[1]}" if version else "no version"
        reason = f"is a qlog of {said}; 0.3 and later are read"
        raise QlogError(reason, "record it with a newer library")
    vantage = _VANTAGE.search(about)
    if vantage is None:
        raise QlogError("does not say whether a client or a server wrote it")
    trace = Trace(vantage[1] == "server")
    file.seek(0)
    text = TextIOWrapper(file, encoding="utf-8", errors="replace")
    _read_events(text, trace, is_delta=bool(_DELTA.search(about)))
    text.detach()
    return trace


def _described(file: BinaryIO) -> str:
    head = file.read(HEAD)
    size = file.seek(0, 2)
    file.seek(max(len(head), size - HEAD))
    return (head + file.read(HEAD)).decode(errors="replace")


def _read_events(text: TextIO, trace: Trace, *, is_delta: bool) -> None:
    first, now = None, 0.0
    for event in _events(text, trace):
        try:
            time = float(event["time"])
            now = now + time if is_delta else time
            first = now if first is None else first
            _take(trace, event, round((now - first) * MS))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            trace.damage = trace.damage or "an event is damaged"
            continue
        if len(trace.sent) + len(trace.received) >= MAX_PACKETS:
            trace.is_cut = True
            return


def _events(file: TextIO, trace: Trace) -> Iterator[Mapping[str, Any]]:
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


def _take(trace: Trace, event: Mapping[str, Any], time_ns: int) -> None:
    name = str(event["name"]).rpartition(":")[2]
    data = event.get("data") or {}
    if name in {"packet_sent", "packet_received"}:
        kept = trace.sent if name == "packet_sent" else trace.received
        kept.append(_packet(data, time_ns))
    elif name == "packet_lost":
        header = data.get("header") or data
        if _is_application(header):
            trace.lost.add(int(header["packet_number"]))
    elif name == "parameters_set":
        # Without an owner they are the client's.
        client_is = "remote" if trace.is_server else "local"
        is_clients = data.get("owner", data.get("initiator", client_is)) == client_is
        for key, value in data.items():
            if key.startswith("initial_max") and isinstance(value, int):
                trace.limits["client" if is_clients else "server"][key] = value


def _is_application(header: Mapping[str, Any]) -> bool:
    return str(header.get("packet_type", "")).lower() in {"1rtt", "0rtt"}


def _packet(data: Mapping[str, Any], time_ns: int) -> Packet:
    header, raw = data.get("header") or {}, data.get("raw") or {}
    size = raw.get("length") or raw.get("payload_length") or header.get("packet_size")
    number = header.get("packet_number")
    packet_number = number if _is_application(header) and isinstance(number, int) else -1
    packet = Packet(time_ns, packet_number, int(size or USUAL_BYTES))
    for frame in data.get("frames") or ():
        _take_frame(packet, frame)
    return packet


def _take_frame(packet: Packet, frame: Mapping[str, Any]) -> None:
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
    elif kind in {"data_blocked", "stream_data_blocked", "streams_blocked"}:
        packet.blocked.append(kind.upper())


def credited(
    transfer: Transfer, known: Mapping[str, int], data: Sequence[Packet], answers: Sequence[Packet]
) -> Transfer:
    """Return a transfer with what the frames of its packets grant and spend, if any grants.

    ``known`` are the receiver's transport parameters.
    """
    ends, edges = credit(known, data, answers, transfer.receiver)
    found = replace(transfer, blocked=_blocked(data))
    if not (edges < FAR).any():
        return found
    spent, granted = replace(found.data, end=ends), replace(found.answers, edge=edges)
    return replace(found, data=spent, answers=granted, has_credit=True)


def _blocked(data: Sequence[Packet]) -> Counter[str]:
    """Count the frames of a sender that says that it is blocked, by their names."""
    return Counter(itertools.chain.from_iterable(packet.blocked for packet in data))


def credit(
    known: Mapping[str, int],
    data: Sequence[Packet],
    answers: Sequence[Packet],
    receiver: Sender,
) -> tuple[Numbers, Numbers]:
    """Return where the main stream is behind each packet of data, and its limit by each answer.

    The client has opened that stream, so its own limit counts as local and a server's as remote.
    Without the ``known`` transport parameters the first update counts from the beginning, which
    claims no wait.

    The connection's limit counts as one of that stream, less what other streams have sent.
    """
    totals = dict[int, int]()
    for packet in data:
        for stream, end in packet.ends.items():
            totals[stream] = max(totals.get(stream, 0), end)
    main = max((key for key in totals if key % 4 == 0), key=lambda key: totals[key], default=-1)
    others = sum(end for stream, end in totals.items() if stream != main)
    opened_by = "local" if receiver == "client" else "remote"
    stream_limit, shared = (
        known.get(name, next((one.limits[key] for one in answers if key in one.limits), FAR))
        for name, key in (
            (f"initial_max_stream_data_bidi_{opened_by}", main),
            ("initial_max_data", -1),
        )
    )
    edges = np.full(len(answers), FAR, dtype=np.int64)
    for place, packet in enumerate(answers):
        stream_limit = (
            max(stream_limit, packet.limits.get(main, 0)) if stream_limit < FAR else stream_limit
        )
        shared = max(shared, packet.limits.get(-1, 0)) if shared < FAR else shared
        edges[place] = min(stream_limit, shared - others)
    ends = np.array([packet.ends.get(main, 0) for packet in data], dtype=np.int64)
    return np.maximum.accumulate(ends), edges


TOLERANCE_NS = 5_000_000
"""Difference of a packet's time in a qlog and on the link; some programs log milliseconds."""
MIN_JOINED = 0.9
"""Share of the larger packets that has to be in the qlog."""
MAX_BYTES = 2**31
MAX_FILES = 20


def with_credit(transfer: Transfer, artifacts: Path, parts: Sequence[str]) -> Transfer:
    """Return a transfer with the windows that a qlog of one of the parts shows, if one does."""
    if not transfer.has_credit:
        for trace in _traces(artifacts, parts):
            if joined := _joined(transfer, trace):
                return joined
    return transfer


def _traces(artifacts: Path, parts: Sequence[str]) -> Iterator[Trace]:
    files = [
        file
        for part in parts
        for file in sorted((artifacts / part).glob("*"))
        if file.suffix in QLOG_ENDINGS
    ]
    for file in files[:MAX_FILES]:
        try:
            with untrusted_files.opened(file, MAX_BYTES, top=artifacts) as stream:
                yield read(stream.buffer)
        except (OSError, QlogError, UnreadableError):
            continue


def _joined(transfer: Transfer, trace: Trace) -> Transfer | None:
    """Return the transfer with a qlog's windows; None if it is of another connection."""
    data, answers = transfer.data, transfer.answers
    if trace.is_server == (transfer.sender == "server"):
        data_at, answers_at = data.sent, answers.arrived
        data_log, answer_log = trace.sent, trace.received
    else:
        data_at, answers_at = data.arrived, answers.sent
        data_log, answer_log = trace.received, trace.sent
    if not answer_log or not (answers_at >= 0).any():
        return None
    shift = int(answers_at[answers_at >= 0].min()) - answer_log[0].at
    data_packets = _matched(data, data_at, data_log, shift)
    large = (data.payload > transfer.small) & (data_at >= 0)
    is_logged = np.array([packet.number >= 0 for packet in data_packets])
    if not large.any() or is_logged[large].mean() < MIN_JOINED:
        return None
    answer_packets = _matched(answers, answers_at, answer_log, shift)
    known = trace.limits[transfer.receiver]
    found = credited(transfer, known, data_packets, answer_packets)
    return replace(found, blocked=_blocked(data_log))


def _matched(sent: Sent, times: Numbers, logged: Sequence[Packet], shift: int) -> list[Packet]:
    """Return the logged packet of each datagram; one without number where none fits."""
    numbered = [packet for packet in logged if packet.number >= 0]
    matched = [Packet(0, -1, 0)] * len(sent)
    begin = 0
    for place in np.argsort(times, kind="stable").tolist():
        now, size = int(times[place]), int(sent.payload[place])
        if now < 0:
            continue
        while begin < len(numbered) and numbered[begin].at + shift < now - TOLERANCE_NS:
            begin += 1
        candidate = begin
        while candidate < len(numbered) and numbered[candidate].at + shift <= now + TOLERANCE_NS:
            if numbered[candidate].size == size:
                matched[place], begin = numbered[candidate], candidate + 1
                break
            candidate += 1
    return matched
