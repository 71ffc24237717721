"""Headers of the packets in an emulator's capture, as columns in the order of their arrival.

The emulator writes one section with one interface for each side of each link, and stamps in
nanoseconds (crates/httpbed-link/src/capture.rs). Interface *n* is where direction *n* begins, so
the k-th packet of an interface is packet k of that direction in the packet log. Only IPv4 and IPv6
without extension headers are read; other packets keep their place with ``protocol`` 0.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

SECTION, ENHANCED = 0x0A0D0D0A, 6
MAGIC = 0x1A2B3C4D
BLOCK = 12
"""Bytes of a block's type and of its two lengths."""
FIXED = 20
"""Bytes before the frame within the body of an enhanced packet block."""
ETHERNET = 14
IPV4, IPV6 = 4, 6
IPV6_BYTES = 40
TCP, UDP = 6, 17
UDP_BYTES = 8
SYN, ACK, FIN = 0x02, 0x10, 0x01
MAX_HEADER = ETHERNET + IPV6_BYTES + 60
"""Bytes of a frame that are looked at: Ethernet, IPv6 and the longest TCP header."""
WINDOW_SCALE = 3
"""Kind of the TCP option (RFC 7323 section 2.2)."""
MAX_SCALE = 14


class CaptureError(ValueError):
    """A file is no capture of the emulator, or is damaged."""


@dataclass(frozen=True)
class Headers:
    """Equally long columns, one row for each packet."""

    interface: Numbers
    protocol: Numbers
    """6 for TCP, 17 for UDP, 0 for what is not read."""
    source_port: Numbers
    destination_port: Numbers
    payload: Numbers
    """Bytes behind the TCP or UDP header."""
    sequence: Numbers
    acknowledgement: Numbers
    flags: Numbers
    window: Numbers
    """As in the header: not scaled."""
    scale: Numbers
    """The window scale that a SYN offers; -1 for other packets and without the option."""

    def of(self, interface: int) -> Headers:
        """Return the packets that arrived at an interface."""
        return self.where(self.interface == interface)

    def where(self, chosen: NDArray[np.bool_] | Numbers) -> Headers:
        """Return the chosen packets."""
        return Headers(**{name: getattr(self, name)[chosen] for name in self.__annotations__})

    def __len__(self) -> int:
        return len(self.interface)


def load(path: Path) -> Headers:
    """Read the headers of a capture.

    A block that is cut off at the end is left out: the emulator may have been stopped.

    :raises OSError: when the file cannot be read.
    :raises CaptureError: when it is no capture of the emulator.
    """
    return read(path.read_bytes())


def read(data: bytes) -> Headers:
    """Read the headers of a capture's bytes; see :func:`load`."""
    places, interfaces, lengths = _frames(data)
    width = MAX_HEADER
    padded = np.frombuffer(data + bytes(width), dtype=np.uint8)
    table = padded[places[:, None] + np.arange(width)].astype(np.int64)
    version = table[:, ETHERNET] >> 4
    begins = np.where(version == IPV4, (table[:, ETHERNET] & 15) * 4, IPV6_BYTES) + ETHERNET
    protocol = np.where(
        version == IPV4,
        table[:, ETHERNET + 9],
        np.where(version == IPV6, table[:, ETHERNET + 6], 0),
    )
    protocol = np.where((protocol == TCP) | (protocol == UDP), protocol, 0)
    protocol = np.where(begins + UDP_BYTES <= lengths, protocol, 0)
    row = np.arange(len(places))

    def at(offset: int, size: int) -> Numbers:
        value = np.zeros(len(places), dtype=np.int64)
        for step in range(size):
            value = value * 256 + table[row, np.minimum(begins + offset + step, width - 1)]
        return value

    is_tcp = protocol == TCP
    header = np.where(is_tcp, (at(12, 1) >> 4) * 4, UDP_BYTES)
    ip_bytes = np.where(
        version == IPV4,
        table[:, ETHERNET + 2] * 256 + table[:, ETHERNET + 3],
        table[:, ETHERNET + 4] * 256 + table[:, ETHERNET + 5] + IPV6_BYTES,
    )
    flags = np.where(is_tcp, at(13, 1), 0)
    return Headers(
        interface=interfaces,
        protocol=protocol,
        source_port=at(0, 2),
        destination_port=at(2, 2),
        payload=np.maximum(0, ip_bytes - (begins - ETHERNET) - header),
        sequence=np.where(is_tcp, at(4, 4), 0),
        acknowledgement=np.where(is_tcp, at(8, 4), 0),
        flags=flags,
        window=np.where(is_tcp, at(14, 2), 0),
        scale=_scales(table, begins, header, is_tcp & (flags & SYN > 0)),
    )


def _frames(data: bytes) -> tuple[Numbers, Numbers, Numbers]:
    """Return where each frame begins, its interface and its length."""
    if len(data) < BLOCK + 4 or struct.unpack_from("<I", data)[0] != SECTION:
        raise CaptureError("not a pcapng file")
    if struct.unpack_from("<I", data, 8)[0] != MAGIC:
        raise CaptureError("a pcapng file of another byte order")
    found = list[tuple[int, int, int]]()
    place, end = 0, len(data)
    while place + BLOCK <= end:
        kind, length = struct.unpack_from("<II", data, place)
        if length < BLOCK or length % 4:
            raise CaptureError(f"a damaged block at byte {place}")
        if place + length > end:
            break
        if kind == ENHANCED and length >= BLOCK + FIXED:
            interface, _, _, captured, _ = struct.unpack_from("<IIIII", data, place + 8)
            if captured > length - BLOCK - FIXED:
                raise CaptureError(f"a damaged packet at byte {place}")
            found.append((place + 8 + FIXED, interface, captured))
        place += length
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _scales(table: Numbers, begins: Numbers, header: Numbers, syn: NDArray[np.bool_]) -> Numbers:
    """Return the window scale in each SYN; -1 elsewhere."""
    scales = np.full(len(table), -1, dtype=np.int64)
    for row in np.flatnonzero(syn):
        options = table[row, begins[row] + 20 : begins[row] + header[row]].tolist()
        place = 0
        while place + 2 < len(options) and options[place] != 0:
            if options[place] == 1:
                place += 1
                continue
            if options[place] == WINDOW_SCALE:
                scales[row] = min(MAX_SCALE, options[place + 2])
            place += max(2, options[place + 1])
    return scales
