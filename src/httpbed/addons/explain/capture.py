"""Headers of a capture's packets, as columns in the order of the file.

Ethernet with VLAN tags, Linux's cooked frames and bare IP are read; IPv4 and IPv6 without extension
headers. Other packets and later fragments keep their place with ``protocol`` 0.

In the emulator's own captures interface *n* is where direction *n* begins
(crates/httpbed-link/src/capture.rs), so the k-th packet of an interface is packet k of that
direction in the packet log.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.explain.capture_file import Bytes, CaptureError, Ending, Frames, frames
from httpbed.addons.explain.transfer import Numbers

__all__ = ["CaptureError", "Headers", "load", "read", "read_chunks"]

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
class Headers:
    """Equally long columns, one row for each packet."""

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

    def where(self, chosen: NDArray[np.bool_] | Numbers) -> Headers:
        """Return the chosen packets."""
        return Headers(**{name: getattr(self, name)[chosen] for name in self.__annotations__})

    def payload_places(self) -> Iterator[tuple[int, int]]:
        """Yield where the payload of each packet begins and ends in the file."""
        begins = self.place + self.headers
        yield from zip(begins.tolist(), (begins + self.payload).tolist(), strict=True)

    def __len__(self) -> int:
        return len(self.interface)


def load(path: Path) -> Headers:
    """Read the headers of the emulator's capture.

    A block that is cut off at the end is left out: the emulator may have been stopped.

    :raises OSError: when the file cannot be read.
    :raises CaptureError: when it is no capture, or damaged.
    """
    with mapped(path) as data:
        return read(data)


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
    """Read the headers of a capture's bytes; see :func:`load`."""
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


def window_scale(answers: Headers, data: Headers) -> int:
    """Return the scale of the client's window: only if both SYNs have the option (RFC 7323)."""
    offered = [headers.scale[headers.scale >= 0] for headers in (answers, data)]
    return int(offered[0][0]) if all(len(one) for one in offered) else 0
