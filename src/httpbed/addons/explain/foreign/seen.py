"""What one place saw of a connection, both directions with their numbers counted from 0."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from httpbed.addons.explain import capture
from httpbed.addons.explain.foreign import connections
from httpbed.addons.explain.foreign.connections import Packets
from httpbed.addons.explain.qlog_trace import Packet, Trace, credit
from httpbed.addons.explain.transfer import (
    FAR,
    MAX_PACKETS,
    NS,
    Columns,
    Flags,
    Numbers,
    Protocol,
)

MAX_SEGMENT, MAX_DATAGRAM = 1460, 1472
"""Payload of a full packet over Ethernet, if no handshake says it."""
GREETING = 4
"""Packets of a client that belong to its handshake."""
NEED_NUMBERS = frozenset(
    {
        "late acknowledgements",
        "receiver's window",
        "sender's reaction",
        "recovery",
        "timeout",
        "pacing",
        "congestion window",
    }
)
"""Causes that only the numbers of lost and acknowledged packets tell apart."""
NEED_ACKNOWLEDGEMENTS = frozenset({"link", "slow start", "server", "client"})
"""Causes that at the server only acknowledgements tell apart."""


class OneSidedError(ValueError):
    """A connection cannot be divided; the reason is a part of a sentence."""


@dataclass(frozen=True)
class Half(Columns):
    """One direction as the place saw it, its numbers counted from 0."""

    at: Numbers
    bytes: Numbers
    payload: Numbers
    first: Numbers
    """TCP: number of its first byte; QUIC: its packet number, or 0."""
    acknowledged: Numbers
    edge: Numbers
    """Of answers: the first number that is not yet accepted; of data over QUIC: the number behind
    the last byte of its main stream."""
    stamp: Numbers
    echo: Numbers


@dataclass(frozen=True)
class Seen:
    """A connection as one place saw it, times in ns from its first packet."""

    protocol: Protocol
    data: Half
    answers: Half
    request: int | None
    """When the request passed the place; None: its handshake is not in the file."""
    handshake: tuple[int, int] | None
    """Server's and client's part of the round trip, by the handshake."""
    ends: bool
    """Whether the connection was closed, or silent afterwards."""
    remarks: tuple[str, ...] = field(default_factory=tuple)
    is_numbered: bool = True
    """Whether losses are seen by the numbers of bytes or packets."""
    lost: Flags | None = None
    """Which packets of the data were lost, where the evidence says so itself."""
    has_credit: bool = False
    """Whether frames say how much the client accepts, over QUIC."""


def of_capture(packets: Packets, file_end: int) -> Seen:
    """Return what a capture has of a connection.

    :raises OneSidedError: when a direction or all data is missing.
    """
    connection = packets.connection
    headers, remarks = packets.headers, list[str]()
    if not packets.from_server.any() or packets.from_server.all():
        which = "client to server" if not packets.from_server.any() else "server to client"
        raise OneSidedError(f"the file has packets from {which} only; capture both directions")
    if packets.is_cut:
        remarks.append(f"its first {MAX_PACKETS} packets")
    full = _full(packets)
    packets, joined = connections.split(packets, full)
    if joined:
        what = "joined or not yet cut by offloads"
        remarks.append(f"{joined} packets were {what}, and are taken as packets of {full} bytes")
    headers, down = packets.headers, packets.from_server
    start = int(headers.at[0])
    is_tcp = not connection.is_quic
    data, answers = headers.where(down), headers.where(~down)
    if is_tcp:
        first, said, acknowledged, edge = capture.tcp_numbers(data, answers)
        if (data.flags & capture.SYN).sum() == 0:
            remarks.append("without its handshake, so windows are not scaled and are left out")
            edge = acknowledged + FAR
    else:
        first, said = np.zeros(len(data), dtype=np.int64), np.zeros(len(answers), dtype=np.int64)
        acknowledged = edge = said
        remarks.append("QUIC without keys: losses, acknowledgements and windows are not seen")
    closes = capture.FIN | capture.RST
    ends = bool(is_tcp and (headers.flags & closes).any())
    silent = file_end - int(headers.at[-1]) > NS
    return Seen(
        protocol="tcp" if is_tcp else "quic",
        data=_half(data, start, first, np.zeros_like(first), np.zeros_like(first)),
        answers=_half(answers, start, said, acknowledged, edge),
        request=_request(packets, start),
        handshake=_handshake(packets),
        ends=ends or silent,
        remarks=tuple(remarks),
        is_numbered=is_tcp,
    )


def _half(one: capture.Headers, start: int, first: Numbers, known: Numbers, edge: Numbers) -> Half:
    return Half(one.at - start, one.bytes, one.payload, first, known, edge, one.stamp, one.echo)


def _full(packets: Packets) -> int:
    """Return the largest payload of a packet on the wire."""
    payload = packets.headers.payload
    offered = packets.headers.segment[packets.headers.segment > 0]
    most = int(offered.min()) if len(offered) else MAX_SEGMENT
    if packets.connection.is_quic:
        most = MAX_DATAGRAM
    fitting = payload[(payload <= most) & (2 * payload >= most)]
    if not len(fitting):
        return most - 12 if (packets.headers.stamp >= 0).any() else most
    values, counts = np.unique(fitting, return_counts=True)
    return int(values[np.argmax(counts)]) if counts.max() > 2 else most


def _handshake(packets: Packets) -> tuple[int, int] | None:
    headers, down = packets.headers, packets.from_server
    if packets.connection.is_quic:
        greets = headers.flags & capture.LONG_HEADER > 0
        first = np.flatnonzero(greets & ~down)
        reply = np.flatnonzero(greets & down)
    else:
        first = np.flatnonzero((headers.flags & capture.SYN > 0) & ~down)
        reply = np.flatnonzero((headers.flags & capture.SYN > 0) & down)
    if not len(first) or not len(reply):
        return None
    before = first[first < reply[0]]
    after = np.flatnonzero(~down & (np.arange(len(headers)) > reply[0]))
    if not len(before) or not len(after):
        return None
    times = headers.at
    server_part = int(times[reply[0]] - times[before[-1]])
    if not packets.connection.is_quic:
        return server_part, int(times[after[0]] - times[reply[0]])
    # A hello may take several datagrams, of which the server answers the first.
    replies = np.flatnonzero(down)
    waits = [
        int(times[one] - times[replies[replies < one][-1]]) for one in after[:GREETING].tolist()
    ]
    return server_part, (waits[0] if server_part > max(waits) else max(waits))


def _request(packets: Packets, start: int) -> int | None:
    """Return when the request passed: the client's first packet after its part of a handshake."""
    headers, down = packets.headers, packets.from_server
    mine = np.flatnonzero(~down & (headers.payload > 0))
    answered = np.flatnonzero(down & (headers.payload > 0))
    if not len(mine) or not len(answered) or _handshake(packets) is None:
        return None
    if packets.connection.is_quic:
        later = mine[headers.flags[mine] & capture.LONG_HEADER == 0]
        return int(headers.at[later[0]]) - start if len(later) else None
    record = packets.first_record[mine]
    if record[0] != connections.TLS_HANDSHAKE:
        return int(headers.at[mine[0]]) - start
    # What follows the hello before the server's is a part of it.
    is_ready = np.isin(record, (connections.TLS_DATA, connections.TLS_CHANGE))
    ready = mine[is_ready & (mine > answered[0])]
    return int(headers.at[ready[0]]) - start if len(ready) else None


UDP_HEADERS = 28


def of_qlog(trace: Trace) -> Seen:
    """Return what a qlog has of a connection.

    Packet numbers and acknowledgements take the place of TCP's numbers; MAX_DATA and
    MAX_STREAM_DATA that of its window, which is then seen and not inferred.

    :raises OneSidedError: when a direction is missing.
    """
    is_server = trace.is_server
    data = trace.sent if is_server else trace.received
    answers = trace.received if is_server else trace.sent
    if not data or not answers:
        raise OneSidedError("it has packets of one direction only")
    data, lost = _with_lost(trace, data, is_server=is_server)
    numbers = np.array([packet.number for packet in data], dtype=np.int64)
    sizes = np.array([packet.size for packet in data], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    behind = np.cumsum(sizes[order])
    first = np.zeros(len(data), dtype=np.int64)
    first[order] = behind - sizes[order]
    known = np.array([answer.acknowledged for answer in answers], dtype=np.int64)
    count = np.searchsorted(numbers[order], known, side="right")
    acknowledged = np.where(known >= 0, np.concatenate([[0], behind])[count], 0)
    ends, edges = credit(trace.limits["client"], data, answers, "client")
    remarks = [f"its first {MAX_PACKETS} packets"] if trace.is_cut else []
    return Seen(
        protocol="quic",
        data=_logged(data, first, np.zeros_like(first), ends),
        answers=_logged(answers, np.zeros_like(known), np.maximum.accumulate(acknowledged), edges),
        request=_first_request(answers),
        handshake=None if is_server else _client_handshake(trace),
        ends=True,
        remarks=tuple(remarks),
        lost=lost,
        has_credit=bool((edges < FAR).any()),
    )


def _logged(packets: list[Packet], first: Numbers, known: Numbers, edge: Numbers) -> Half:
    at = np.array([packet.at for packet in packets], dtype=np.int64)
    size = np.array([packet.size for packet in packets], dtype=np.int64)
    none = np.full(len(packets), -1, dtype=np.int64)
    return Half(at, size + UDP_HEADERS, size, first, known, edge, none, none)


def _with_lost(
    trace: Trace, data: list[Packet], *, is_server: bool
) -> tuple[list[Packet], np.ndarray]:
    """Return the data with what was lost on its way to a client: the numbers that never came."""
    if is_server:
        return data, np.array([packet.number in trace.lost for packet in data], dtype=bool)
    came = {packet.number for packet in data}
    packets, lost, newest = list[Packet](), list[bool](), -1
    for packet in data:
        for number in range(newest + 1, packet.number) if newest >= 0 else ():
            if number not in came:
                packets.append(Packet(packet.at, number, packet.size))
                lost.append(True)
        newest = max(newest, packet.number)
        packets.append(packet)
        lost.append(False)
    return packets, np.array(lost, dtype=bool)


def _first_request(answers: list[Packet]) -> int | None:
    """Return when the first stream that the client opened passed."""
    return next((answer.at for answer in answers if any(key % 4 == 0 for key in answer.ends)), None)


def _client_handshake(trace: Trace) -> tuple[int, int] | None:
    later = [packet.at for packet in trace.received if packet.at >= trace.sent[0].at]
    return (later[0] - trace.sent[0].at, 0) if later else None


REORDERED_SHARE = 0.25
"""Part of the round trip within which a hole is filled by a packet that was reordered."""
NEEDLESS_SHARE = 0.8
"""Part of the round trip before which an acknowledgement is not that of a packet sent again."""


def with_lost(seen: Seen, round_trip: int) -> tuple[Half, Flags]:
    """Return the data with a packet for each part of a hole that a later packet filled."""
    data = seen.data
    none = np.zeros(len(data), dtype=bool)
    if seen.protocol != "tcp" or not len(data):
        return data, none
    ends = data.first + data.payload
    highest = np.maximum.accumulate(np.concatenate([data.first[:1], ends[:-1]]))
    holes = np.flatnonzero((data.payload > 0) & (data.first > highest))
    fills = np.flatnonzero((data.payload > 0) & (data.first < highest))
    rows, before = list[int](), list[int]()
    for fill in fills.tolist():
        opened = holes[(data.first[holes] > data.first[fill]) & (holes < fill)]
        opened = opened[highest[opened] <= data.first[fill]]
        if not len(opened):
            continue
        waited = int(data.at[fill] - data.at[opened[-1]])
        if waited > REORDERED_SHARE * round_trip:
            rows.append(fill)
            before.append(int(opened[-1]))
    if not rows:
        return data, none
    order = np.argsort(
        np.concatenate([np.arange(len(data)), np.array(before) - 0.5]), kind="stable"
    )
    picked = np.concatenate([np.arange(len(data)), np.array(rows)])[order]
    lost = np.concatenate([none, np.ones(len(rows), dtype=bool)])[order]
    completed = data.where(picked)
    at = completed.at.copy()
    for place in np.flatnonzero(lost)[::-1].tolist():
        at[place] = at[place + 1]
    return replace(completed, at=at), lost


def at_server(seen: Seen, covered: Numbers, round_trip: int) -> Flags:
    """Return which packets the server sent again, because they were lost."""
    data, answers = seen.data, seen.answers
    lost = np.zeros(len(data), dtype=bool)
    if seen.protocol != "tcp":
        return lost
    ends = data.first + data.payload
    highest = np.maximum.accumulate(np.concatenate([ends[:1] * 0, ends[:-1]]))
    for again in np.flatnonzero((data.payload > 0) & (data.first < highest)).tolist():
        earlier = np.flatnonzero(
            (data.first[:again] <= data.first[again]) & (ends[:again] > data.first[again])
        )
        if not len(earlier):
            continue
        answer = int(covered[again])
        waited = answers.at[answer] - data.at[again]
        is_needless = answer >= 0 and waited < NEEDLESS_SHARE * round_trip
        lost[earlier[-1]] |= not is_needless
    return lost
