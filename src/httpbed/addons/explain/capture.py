"""Packets of a capture, pcapng or pcap: where each frame is, when it was seen, and its headers.

**Frames** are read in chunks. A file may be larger than memory. It is mapped, so that only what is
looked at is read. Both byte orders, several sections and every resolution of time are read
(draft-ietf-opsawg-pcapng, draft-ietf-opsawg-pcap). A packet that is cut off at the end is left out,
and :class:`Ending` says so.

**Headers** are columns in the order of the file. Ethernet with VLAN tags, Linux's cooked frames and
bare IP are read; IPv4 and IPv6 without extension headers. Other packets and later fragments keep
their place with ``protocol`` 0.

In the emulator's own captures interface *n* is where direction *n* begins
(crates/httpbed-link/src/capture.rs), so the k-th packet of an interface is packet k of that
direction in the packet log.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.explain.transfer import NS, Columns, Numbers

Bytes = NDArray[np.uint8]

SECTION, INTERFACE, SIMPLE, STATISTICS, ENHANCED = 0x0A0D0D0A, 1, 3, 5, 6
MAGIC = 0x1A2B3C4D
BLOCK = 12
"""Bytes of a block's type and of its two lengths."""
FIXED = 20
"""Bytes before the frame within the body of an enhanced packet block."""
RESOLUTION = 9
"""Option of an interface: the unit of its times, a power of ten or of two."""
DROPPED = (5, 7)
"""Options of an interface's statistics: packets that interface and kernel did not deliver."""
PCAP_HEADER, PCAP_RECORD = 24, 16
PCAP_UNITS = {0xA1B2C3D4: 1_000, 0xA1B23C4D: 1}
"""Nanoseconds in a unit of a record's fraction, by the file's first number."""
CHUNK = 1 << 16
"""Packets that are read at a time."""
MAX_FRAME = 1 << 20
ETHERNET = 1


class CaptureError(ValueError):
    """A file is no capture, or damaged at its beginning."""


@dataclass(frozen=True)
class Frames(Columns):
    """Packets in the order of the file, as columns."""

    place: Numbers
    """Offset of each frame in the file."""
    interface: Numbers
    captured: Numbers
    """Bytes of the frame that the file has."""
    original: Numbers
    """Bytes that the frame had."""
    at: Numbers
    """When it was seen, in ns; 0 where the file does not say."""
    link: Numbers
    """The kind of frame (LINKTYPE)."""


@dataclass
class Ending:
    """What is known of a capture when it has been read to its end."""

    damage: str = ""
    """Where the file is damaged or cut off, in words; what follows was left out."""
    dropped: int = 0
    """Packets that the capturing machine says it missed."""


def frames(data: bytes | memoryview, ending: Ending) -> Iterator[Frames]:
    """Yield a capture's packets in chunks.

    :raises CaptureError: when it is no capture.
    """
    if len(data) >= BLOCK and struct.unpack_from("<I", data)[0] == SECTION:
        walk = _pcapng(data, ending)
    elif len(data) >= PCAP_HEADER:
        walk = _pcap(data, ending)
    else:
        raise CaptureError("neither a pcapng nor a pcap file")
    while True:
        rows = [*itertools.islice(walk, CHUNK)]
        yield Frames(*np.array(rows, dtype=np.int64).reshape(-1, 6).T)
        if len(rows) < CHUNK:
            return


Row = tuple[int, int, int, int, int, int]


def _pcap(data: bytes | memoryview, ending: Ending) -> Iterator[Row]:
    for order in "<", ">":
        magic = struct.unpack_from(order + "I", data)[0]
        if magic in PCAP_UNITS:
            break
    else:
        raise CaptureError("neither a pcapng nor a pcap file")
    unit = PCAP_UNITS[magic]
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    record = struct.Struct(order + "IIII").unpack_from
    place, end = PCAP_HEADER, len(data)
    while place + PCAP_RECORD <= end:
        seconds, fraction, captured, original = record(data, place)
        place += PCAP_RECORD
        if captured > MAX_FRAME:
            ending.damage = f"damaged at byte {place}"
            return
        if place + captured > end:
            break
        yield place, 0, captured, original, seconds * NS + fraction * unit, link
        place += captured
    if place != end:
        ending.damage = f"cut off within a packet at byte {min(place, end)}"


@dataclass
class _Interface:
    link: int
    numerator: int
    """Of ns in a unit of its times."""
    denominator: int
    snap: int


def _pcapng(data: bytes | memoryview, ending: Ending) -> Iterator[Row]:
    place, end, section = 0, len(data), _Section(data, ending, "<", 0)
    while place + BLOCK <= end:
        kind, length = section.head(place)
        if kind == SECTION:
            section = section.next(place)
            _, length = section.head(place)
        if length < BLOCK or length % 4:
            if not place:
                raise CaptureError("a damaged pcapng file")
            ending.damage = f"damaged at byte {place}"
            return
        if place + length > end:
            break
        if kind == ENHANCED and length >= BLOCK + FIXED:
            row = section.packet(place, length)
            if row is None:
                ending.damage = f"damaged at byte {place}"
                return
            yield row
        elif kind == SIMPLE and section.interfaces and length >= BLOCK + 4:
            yield section.simple_packet(place, length)
        else:
            section.describe(kind, place, length)
        place += length
    if place != end:
        ending.damage = f"cut off within a packet at byte {place}"


class _Section:
    """A section of a pcapng file: its byte order and its interfaces."""

    def __init__(self, data: bytes | memoryview, ending: Ending, order: str, first: int) -> None:
        self.data, self.ending, self.order, self.first = data, ending, order, first
        self.interfaces = list[_Interface]()
        self._head = struct.Struct(order + "II").unpack_from
        self._packet = struct.Struct(order + "IIIII").unpack_from

    def head(self, place: int) -> tuple[int, int]:
        """Return a block's type and length."""
        kind, length = self._head(self.data, place)
        return kind, length

    def next(self, place: int) -> _Section:
        """Return the section that begins at a place; its interfaces have numbers of their own."""
        order = _order(self.data, place)
        return _Section(self.data, self.ending, order, self.first + len(self.interfaces))

    def packet(self, place: int, length: int) -> Row | None:
        """Return an enhanced packet; None if it is damaged."""
        number, high, low, captured, original = self._packet(self.data, place + 8)
        if captured > length - BLOCK - FIXED:
            return None
        known = self.interfaces[number] if number < len(self.interfaces) else _UNKNOWN
        at = ((high << 32) | low) * known.numerator // known.denominator
        return place + 8 + FIXED, self.first + number, captured, original, at, known.link

    def simple_packet(self, place: int, length: int) -> Row:
        """Return a simple packet: it has no time, and the first interface captured it."""
        original = struct.unpack_from(self.order + "I", self.data, place + 8)[0]
        captured = min(original, length - BLOCK - 4, self.interfaces[0].snap or original)
        return place + 12, self.first, captured, original, 0, self.interfaces[0].link

    def describe(self, kind: int, place: int, length: int) -> None:
        """Take in a block that describes an interface."""
        if kind == INTERFACE and length >= BLOCK + 8:
            self.interfaces.append(_interface(self.data, place, length, self.order))
        elif kind == STATISTICS:
            words = _options(self.data, place + 20, place + length - 4, self.order)
            order: Literal["little", "big"] = "little" if self.order == "<" else "big"
            counts = [int.from_bytes(words[one], order) for one in DROPPED if one in words]
            self.ending.dropped += max(counts, default=0)


_UNKNOWN = _Interface(ETHERNET, 1000, 1, 0)


def _order(data: bytes | memoryview, place: int) -> str:
    for order in "<", ">":
        if struct.unpack_from(order + "I", data, place + 8)[0] == MAGIC:
            return order
    raise CaptureError("a damaged pcapng file")


def _interface(data: bytes | memoryview, place: int, length: int, order: str) -> _Interface:
    link, _, snap = struct.unpack_from(order + "HHI", data, place + 8)
    words = _options(data, place + 16, place + length - 4, order)
    exponent = words[RESOLUTION][0] if words.get(RESOLUTION) else 6
    if exponent & 0x80:
        return _Interface(link, NS, 1 << (exponent & 0x7F), snap)
    return _Interface(link, NS, 10 ** min(exponent, 30), snap)


def _options(data: bytes | memoryview, place: int, end: int, order: str) -> dict[int, bytes]:
    options = dict[int, bytes]()
    while place + 4 <= end:
        code, length = struct.unpack_from(order + "HH", data, place)
        if code == 0 or place + 4 + length > end:
            break
        options[code] = bytes(data[place + 4 : place + 4 + length])
        place += 4 + length + (-length % 4)
    return options


IPV4, IPV6 = 4, 6
IPV6_BYTES = 40
TCP, UDP = 6, 17
UDP_BYTES = 8
SYN, RST, ACK, FIN = 0x02, 0x04, 0x10, 0x01
MAX_HEADER = IPV6_BYTES + 60
"""Bytes of a packet that are looked at: IPv6 and the longest TCP header."""
LINK_BYTES = {0: 4, 1: 14, 12: 0, 14: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Bytes before the IP packet, by LINKTYPE; other kinds are not read."""
VLANS = (0x8100, 0x88A8)
SEGMENT_SIZE, WINDOW_SCALE, TIMESTAMPS = 2, 3, 8
"""Kinds of TCP options (RFC 9293 section 3.2, RFC 7323)."""
MAX_SCALE = 14
LONG_HEADER = 0x80
"""Bit of a QUIC packet's first byte that is set during the handshake (RFC 8999)."""


@dataclass(frozen=True)
class Headers(Columns):
    """The headers of packets, in the order of the file."""

    interface: Numbers
    at: Numbers
    """When it was seen, in ns."""
    protocol: Numbers
    """6 for TCP, 17 for UDP, 0 for what is not read."""
    place: Numbers
    """Where its IP packet begins in the file."""
    version: Numbers
    """4 or 6."""
    headers: Numbers
    """Bytes before the payload of TCP or UDP, from ``place`` on."""
    source_port: Numbers
    destination_port: Numbers
    bytes: Numbers
    """Of the IP packet."""
    payload: Numbers
    """Bytes behind the TCP or UDP header."""
    sequence: Numbers
    acknowledgement: Numbers
    flags: Numbers
    """Of TCP; of UDP whether the payload may begin with a long header of QUIC."""
    window: Numbers
    """As in the header: not scaled."""
    scale: Numbers
    """The window scale that a SYN offers; -1 for other packets and without the option."""
    segment: Numbers
    """The largest segment that a SYN offers; -1 for other packets and without the option."""
    stamp: Numbers
    """TCP's timestamp; -1 without the option."""
    echo: Numbers
    """The timestamp that it answers; -1 without the option."""

    def of(self, interface: int) -> Headers:
        """Return the packets that arrived at an interface."""
        return self.where(self.interface == interface)

    @classmethod
    def joined(cls, parts: Sequence[Headers]) -> Headers:
        """Return the packets of all parts, in their order."""
        return cls(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in cls.__annotations__
            }
        )

    def payload_places(self) -> Iterator[tuple[int, int]]:
        """Yield where the payload of each packet begins and ends in the file."""
        begins = self.place + self.headers
        yield from zip(begins.tolist(), (begins + self.payload).tolist(), strict=True)


@contextmanager
def mapped(path: Path) -> Iterator[memoryview | bytes]:
    """Map a file into memory for reading."""
    with path.open("rb") as file:
        try:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # it is empty
            yield b""
            return
        # It is closed with the last array that looks at it.
        yield memoryview(memory)


def read(data: bytes | memoryview) -> Headers:
    """Read the headers of the emulator's capture.

    A block that is cut off at the end is left out: the emulator may have been stopped.

    :raises CaptureError: when it is no capture, or damaged.
    """
    ending = Ending()
    headers = Headers.joined([*read_chunks(data, ending)])
    if ending.damage.startswith("damaged"):
        raise CaptureError(f"a capture that is {ending.damage}")
    return headers


def read_chunks(data: bytes | memoryview, ending: Ending) -> Iterator[Headers]:
    """Yield the headers of a capture of any size, some ten thousand packets at a time."""
    view = np.frombuffer(data, dtype=np.uint8)
    for chunk in frames(data, ending):
        yield _headers(view, chunk)


def _headers(view: Bytes, chunk: Frames) -> Headers:
    begin = _link_bytes(view, chunk)
    lengths = chunk.captured - begin
    places = chunk.place + begin
    table = _gathered(view, places, np.maximum(lengths, 0), MAX_HEADER)
    row = np.arange(len(chunk))
    version = np.where((begin >= 0) & (lengths >= 1), table[:, 0] >> 4, 0)
    header_at = np.where(version == IPV4, (table[:, 0] & 15) * 4, IPV6_BYTES)
    protocol = np.where(version == IPV4, table[:, 9], np.where(version == IPV6, table[:, 6], 0))
    fragment = (version == IPV4) & ((table[:, 6] & 0x1F) * 256 + table[:, 7] > 0)
    readable = (protocol == TCP) | (protocol == UDP)
    readable &= (header_at + UDP_BYTES <= lengths) & ~fragment
    protocol = np.where(readable, protocol, 0)

    def at(offset: int, size: int) -> Numbers:
        value = np.zeros(len(chunk), dtype=np.int64)
        for step in range(size):
            value = value * 256 + table[row, np.minimum(header_at + offset + step, MAX_HEADER - 1)]
        return value

    is_tcp = protocol == TCP
    header = np.where(is_tcp, (at(12, 1) >> 4) * 4, UDP_BYTES)
    ip_bytes = np.where(
        version == IPV4,
        table[:, 2] * 256 + table[:, 3],
        table[:, 4] * 256 + table[:, 5] + IPV6_BYTES,
    )
    # A super-packet of more than 64 KiB has no length in its header.
    none = (ip_bytes == 0) | ((version == IPV6) & (ip_bytes == IPV6_BYTES))
    ip_bytes = np.where(none, chunk.original - begin, ip_bytes)
    flags = np.where(is_tcp, at(13, 1), at(UDP_BYTES, 1) & LONG_HEADER)
    options = _Options(table, header_at, header)
    syn = is_tcp & (flags & SYN > 0)
    return Headers(
        interface=chunk.interface,
        at=chunk.at,
        protocol=protocol,
        place=places,
        version=version,
        headers=header_at + header,
        source_port=at(0, 2),
        destination_port=at(2, 2),
        bytes=ip_bytes,
        payload=np.maximum(0, ip_bytes - header_at - header),
        sequence=np.where(is_tcp, at(4, 4), 0),
        acknowledgement=np.where(is_tcp, at(8, 4), 0),
        flags=flags,
        window=np.where(is_tcp, at(14, 2), 0),
        scale=np.minimum(options.values(WINDOW_SCALE, syn, 2, 1), MAX_SCALE),
        segment=options.values(SEGMENT_SIZE, syn, 2, 2),
        stamp=options.values(TIMESTAMPS, is_tcp, 2, 4),
        echo=options.values(TIMESTAMPS, is_tcp, 6, 4),
    )


def _gathered(view: Bytes, places: Numbers, lengths: Numbers, width: int) -> Numbers:
    """Return so many bytes from each place, zeros behind each packet's end."""
    steps = np.arange(width)
    inside = steps < lengths[:, None]
    where = np.where(inside, places[:, None] + steps, 0)
    if not len(view):
        return np.zeros((0, width), dtype=np.int64)
    return np.where(inside, view[where], 0).astype(np.int64)


def _link_bytes(view: Bytes, chunk: Frames) -> Numbers:
    """Return the bytes before each IP packet; beyond the frame for kinds that are not read."""
    begin = np.full(len(chunk), -1, dtype=np.int64)
    for kind, size in LINK_BYTES.items():
        begin[chunk.link == kind] = size
    for _ in range(2):
        rows = np.flatnonzero((chunk.link == 1) & (begin >= 14) & (chunk.captured >= begin + 4))
        if not len(rows):
            break
        kind = view[chunk.place[rows] + begin[rows] - 2].astype(np.int64) * 256
        kind += view[chunk.place[rows] + begin[rows] - 1]
        begin[rows[np.isin(kind, VLANS)]] += 4
    return np.where(begin < 0, chunk.captured, begin)


@dataclass(frozen=True)
class _Options:
    """TCP options, walked in step for all packets."""

    table: Numbers
    header_at: Numbers
    header: Numbers

    def values(self, kind: int, chosen: NDArray[np.bool_], offset: int, size: int) -> Numbers:
        """Return the number in an option of the chosen packets; -1 for others."""
        numbers = np.full(len(self.table), -1, dtype=np.int64)
        rows = np.flatnonzero(chosen & (self.header > 20))
        place = self.header_at[rows] + 20
        end = np.minimum(self.header_at[rows] + self.header[rows], MAX_HEADER)
        while len(rows):
            alive = place + 1 < end
            rows, place, end = rows[alive], place[alive], end[alive]
            if not len(rows):
                break
            code = self.table[rows, place]
            length = np.where(code == 1, 1, np.maximum(self.table[rows, place + 1], 2))
            hit = (code == kind) & (place + offset + size <= end)
            value = np.zeros(int(hit.sum()), dtype=np.int64)
            for step in range(size):
                value = value * 256 + self.table[rows[hit], place[hit] + offset + step]
            numbers[rows[hit]] = value
            alive = ~hit & (code != 0)
            rows, place, end = rows[alive], place[alive] + length[alive], end[alive]
        return numbers


def unwrapped(numbers: Numbers) -> Numbers:
    """Return TCP's numbers or timestamps without their wrap at 2^32 (RFC 9293, 3.4)."""
    return np.asarray(np.unwrap(numbers, period=1 << 32), dtype=np.int64)


def tcp_numbers(data: Headers, answers: Headers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return TCP's numbers without their wrap at 2^32, each from 0 at its SYN.

    They are the first byte of each packet of ``data``, that of each of ``answers``, the byte that
    an answer expects next, and the first one that it does not yet accept.
    """
    first, said = (unwrapped(flow.sequence) - flow.sequence[:1] for flow in (data, answers))
    expected = np.zeros(len(answers), dtype=np.int64)
    known = np.flatnonzero(answers.acknowledgement)
    if len(data):
        values = np.concatenate([data.sequence[:1], answers.acknowledgement[known]])
        expected[known] = unwrapped(values)[1:] - data.sequence[0]
    # A window is scaled only if both SYNs have the option (RFC 7323).
    offered = [flow.scale[flow.scale >= 0] for flow in (answers, data)]
    scale = offered[0][0] if all(len(one) for one in offered) else 0
    window = answers.window << np.where(answers.flags & SYN > 0, 0, scale)
    return first + (data.flags & SYN > 0), said, expected, expected + window
