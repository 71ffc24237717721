"""The connections of a capture of any origin, and the packets of a chosen one.

A first reading counts every connection, with memory for each connection and none for each packet.
A second one takes the packets of one connection. Both hash the two ends of a packet, so that a
packet's connection is a number that does not depend on its direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address

import numpy as np

from httpbed.addons.explain import capture
from httpbed.addons.explain.capture import Bytes, CaptureError, Ending, Headers
from httpbed.addons.explain.transfer import MAX_PACKETS, Numbers

MAX_CONNECTIONS = 100_000
END_BYTES = 18
"""An address as of IPv6, and a port."""
HTTPS = (443, 80, 8443, 8080)
"""Ports that are a server's, where no handshake says whose."""
TLS_HANDSHAKE, TLS_DATA, TLS_CHANGE = 22, 23, 20
"""First byte of a TLS record (RFC 8446 section 5.1)."""
HELLO_BYTES = 2000
HTTP2 = b"\x02h2"
"""HTTP/2 among the protocols of a TLS hello (RFC 7301)."""


@dataclass(frozen=True)
class End:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass
class Connection:
    """A connection with what both of its ends sent; ends are in an arbitrary order."""

    key: int
    protocol: int
    ends: tuple[End, End]
    payload: list[int]
    """Bytes, from each end."""
    begin: int
    end: int
    opener: int = -1
    """The end that sent the first packet of a handshake; -1 without one."""

    @property
    def client(self) -> int:
        """Which end is the client: who opened; else the one whose port is no server's."""
        if self.opener >= 0:
            return self.opener
        known = [end.port in HTTPS for end in self.ends]
        if known[0] != known[1]:
            return int(known[0])
        return int(self.payload[1] < self.payload[0])

    @property
    def is_quic(self) -> bool:
        """Whether it is not TCP."""
        return self.protocol == capture.UDP

    @property
    def server_bytes(self) -> int:
        """Payload from the server."""
        return self.payload[1 - self.client]

    @property
    def name(self) -> str:
        """Client and server."""
        return f"{self.ends[self.client]} to {self.ends[1 - self.client]}"


@dataclass(frozen=True)
class Packets:
    """The packets of one connection, in the order of their times, as one place saw them."""

    connection: Connection
    headers: Headers
    from_server: np.ndarray
    first_record: Numbers
    """First byte of each payload; -1 for a packet without one."""
    is_cut: bool
    """Whether later packets were left out."""
    offers_http2: bool = False
    """Whether the client's hello offers HTTP/2."""


def survey(data: bytes | memoryview, ending: Ending) -> list[Connection]:
    """Return the connections of a capture, the one with most bytes from its server first.

    :raises CaptureError: when it is no capture, or has too many connections.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    connections = dict[int, Connection]()
    for headers in capture.read_chunks(data, ending):
        chosen = headers.where(headers.protocol > 0)
        if len(chosen):
            _count(connections, chosen, view)
        if len(connections) > MAX_CONNECTIONS:
            raise CaptureError(f"it has more than {MAX_CONNECTIONS} connections; filter it first")
    return sorted(connections.values(), key=lambda connection: -connection.server_bytes)


def packets_of(data: bytes | memoryview, connection: Connection) -> Packets:
    """Return the packets of a connection."""
    view = np.frombuffer(data, dtype=np.uint8)
    parts, count = list[Headers](), 0
    is_server = list[np.ndarray]()
    for headers in capture.read_chunks(data, Ending()):
        ends = _Ends(headers, view)
        chosen = np.flatnonzero((ends.keys == connection.key) & (headers.protocol > 0))
        parts.append(headers.where(chosen))
        is_server.append(ends.side[chosen] != connection.client)
        count += len(chosen)
        if count > MAX_PACKETS:
            break
    joined = Headers.joined(parts)
    order = np.argsort(joined.at, kind="stable")[:MAX_PACKETS]
    joined = joined.where(order)
    first = np.full(len(joined), -1, dtype=np.int64)
    has = joined.payload > 0
    places = np.minimum(joined.place[has] + joined.headers[has], max(0, len(view) - 1))
    first[has] = view[places]
    server = np.concatenate(is_server)[order]
    hello = joined.place[(first == TLS_HANDSHAKE) & ~server][:1].tolist()
    words = b"".join(bytes(data[place : place + HELLO_BYTES]) for place in hello)
    return Packets(connection, joined, server, first, count > MAX_PACKETS, HTTP2 in words)


class _Ends:
    """Which connection each packet belongs to, and which of its ends sent it."""

    def __init__(self, headers: Headers, view: Bytes) -> None:
        self.sources = _end_bytes(headers, view, is_source=True)
        self.targets = _end_bytes(headers, view, is_source=False)
        source, target = _hashed(self.sources), _hashed(self.targets)
        self.keys = (source + target + headers.protocol.astype(np.uint64)).astype(np.int64)
        # The end with the smaller hash is end 0.
        self.side = (source > target).astype(np.int64)


_MULTIPLIERS = np.random.default_rng(35).integers(0, 2**63, END_BYTES, dtype=np.uint64) * 2 + 1


def _hashed(ends: Bytes) -> np.ndarray:
    with np.errstate(over="ignore"):
        summed = (ends.astype(np.uint64) * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
        mixed: np.ndarray = (summed ^ (summed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return mixed


def _end_bytes(headers: Headers, view: Bytes, *, is_source: bool) -> Bytes:
    """Return the address, padded to 16 bytes, and the port of each packet's source or target."""
    addresses = np.zeros((len(headers), END_BYTES), dtype=np.uint8)
    for version, size, first in ((4, 4, 12), (6, 16, 8)):
        rows = np.flatnonzero(headers.version == version)
        offset = first if is_source else first + size
        where = headers.place[rows][:, None] + offset + np.arange(size)
        addresses[rows[:, None], np.arange(size)] = view[np.minimum(where, len(view) - 1)]
    port = headers.source_port if is_source else headers.destination_port
    addresses[:, 16], addresses[:, 17] = port >> 8, port & 255
    return addresses


def _count(connections: dict[int, Connection], headers: Headers, view: Bytes) -> None:
    ends = _Ends(headers, view)
    keys, first, which = np.unique(ends.keys, return_index=True, return_inverse=True)
    sides = ends.side
    payload = np.zeros((len(keys), 2), dtype=np.int64)
    np.add.at(payload, (which, sides), headers.payload)
    begin = np.full(len(keys), 1 << 62)
    last = np.zeros(len(keys), dtype=np.int64)
    np.minimum.at(begin, which, headers.at)
    np.maximum.at(last, which, headers.at)
    opens = (headers.flags & (capture.SYN | capture.ACK) == capture.SYN) & (headers.protocol == 6)
    opener = np.full(len(keys), -1)
    opener[which[opens]] = sides[opens]
    for place, key in enumerate(keys.tolist()):
        if key not in connections:
            row = int(first[place])
            connections[key] = _new(headers, ends, row, key)
        connection = connections[key]
        for side in (0, 1):
            connection.payload[side] += int(payload[place, side])
        connection.begin, connection.end = (
            min(connection.begin, int(begin[place])),
            max(connection.end, int(last[place])),
        )
        if opener[place] >= 0:
            connection.opener = int(opener[place])


def _new(headers: Headers, ends: _Ends, row: int, key: int) -> Connection:
    size = 4 if headers.version[row] == capture.IPV4 else 16
    pair = [_end(ends.sources[row], size), _end(ends.targets[row], size)]
    if ends.side[row]:
        pair.reverse()
    protocol = int(headers.protocol[row])
    # The first datagram of a QUIC connection is its client's, and has a long header.
    starts = protocol == capture.UDP and headers.flags[row] and headers.payload[row] >= 1200
    opener = int(ends.side[row]) if starts else -1
    return Connection(key, protocol, (pair[0], pair[1]), [0, 0], 1 << 62, 0, opener)


def _end(raw: Bytes, size: int) -> End:
    port = int(raw[16]) * 256 + int(raw[17])
    return End(str(ip_address(bytes(raw[:size]))), port)


def split(packets: Packets, full: int) -> tuple[Packets, int]:
    """Return the packets with each super-packet as packets of ``full`` bytes, and their number.

    The kernel hands over several packets as one where the network card cuts or joins them.
    """
    headers = packets.headers
    count = np.maximum(1, -(-headers.payload // max(1, full)))
    if full <= 0 or not (count > 1).any():
        return packets, 0
    rows = np.repeat(np.arange(len(headers)), count)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    divided = headers.where(rows)
    rest = headers.payload[rows] - place * full
    payload = np.where(count[rows] > 1, np.minimum(rest, full), headers.payload[rows])
    header_bytes = headers.bytes[rows] - headers.payload[rows]
    divided = replace(
        divided,
        payload=payload,
        bytes=header_bytes + payload,
        sequence=np.where(divided.protocol == capture.TCP, (divided.sequence + place * full), 0)
        % 2**32,
    )
    parts = replace(
        packets,
        headers=divided,
        from_server=packets.from_server[rows],
        first_record=np.where(place == 0, packets.first_record[rows], -1),
    )
    return parts, int((count > 1).sum())


def chosen(connections: list[Connection], word: str) -> Iterator[Connection]:
    """Yield the connections that a word chooses: a number from 1, a port, or an end."""
    if word.isdecimal() and 1 <= int(word) <= len(connections):
        yield connections[int(word) - 1]
        return
    for connection in connections:
        ends = [str(end) for end in connection.ends]
        if word in ends or (
            word.isdecimal() and int(word) in {end.port for end in connection.ends}
        ):
            yield connection
