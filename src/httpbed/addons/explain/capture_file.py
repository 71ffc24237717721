"""Frames of a capture, pcapng or pcap, in chunks: where each is in the file, and when it was seen.

A file may be larger than memory. It is mapped, so that only what is looked at is read. Both byte
orders, several sections and every resolution of time are read (draft-ietf-opsawg-pcapng,
draft-ietf-opsawg-pcap). A packet that is cut off at the end is left out, and :class:`Ending` says
so.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.explain.transfer import NS, Numbers

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
class Frames:
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

    def __len__(self) -> int:
        return len(self.place)


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
