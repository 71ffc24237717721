"""A computed transfer as frames of TCP, as a capture at one side has them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from httpbed.addons.explain import capture
from httpbed.addons.explain.transfer import Sent, Transfer
from side_capture import INTERFACE, SECTION, Side, packet

HELLO = 100
"""Bytes of the server's part of the TLS handshake."""
HANDSHAKE, DATA = 22, 23
CLIENT_PORT, SERVER_PORT = 40_000, 443
START = 1_700_000_000 * 10**9


@dataclass(frozen=True)
class Segment:
    """A TCP segment."""

    at: int
    is_down: bool
    sequence: int
    acknowledgement: int
    flags: int
    payload: int
    record: int = 0
    window: int = 65_535
    port: int = CLIENT_PORT

    def frame(self) -> bytes:
        """Return its frame with the first byte of its payload, as a short capture keeps it."""
        ports = (SERVER_PORT, self.port) if self.is_down else (self.port, SERVER_PORT)
        hosts = b"\x0a\x00\x00\x02\x0a\x00\x00\x01" if self.is_down else b"\x0a\0\0\x01\x0a\0\0\x02"
        options = b"\x02\x04\x05\xa8\x03\x03\x07\x00" if self.flags & capture.SYN else b""
        offset = (20 + len(options)) // 4 << 4
        numbers = (self.sequence % 2**32, self.acknowledgement % 2**32)
        tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, offset, self.flags, self.window, 0, 0)
        length = 20 + len(tcp) + len(options) + self.payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, length if length < 65536 else 0, 0, 0, 64, 6, 0)
        body = bytes([self.record]) if self.payload else b""
        return b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0" + ip + hosts + tcp + options + body


def segments(transfer: Transfer, side: Side, *, port: int = CLIENT_PORT) -> list[Segment]:
    """Return what a side sees of a computed transfer, in the order of the times."""
    data, answers = transfer.data, transfer.answers
    found = [
        Segment(at, True, *words, port=port)
        for at, words in zip(_seen(data, is_own=side == "server"), _down(data), strict=True)
        if at >= 0
    ]
    found += [
        Segment(at, False, *words, port=port)
        for at, words in zip(_seen(answers, is_own=side == "client"), _up(answers), strict=True)
        if at >= 0
    ]
    # Of one time, what arrives comes before what is sent.
    return sorted(found, key=lambda segment: (segment.at, segment.is_down == (side == "server")))


def _seen(sent: Sent, *, is_own: bool) -> list[int]:
    times: list[int] = (sent.sent if is_own else sent.arrived).tolist()
    return times


def _down(data: Sent) -> list[tuple[int, int, int, int, int]]:
    first = [(0, 1, capture.SYN | capture.ACK, 0, 0), (1, 201, capture.ACK, HELLO, HANDSHAKE)]
    rest = zip(data.first[2:].tolist(), data.payload[2:].tolist(), strict=True)
    return [*first, *((HELLO + number, 501, capture.ACK, size, DATA) for number, size in rest)]


def _up(answers: Sent) -> list[tuple[int, int, int, int, int]]:
    first = [
        (0, 0, capture.SYN, 0, 0),
        (1, 1, capture.ACK, 200, HANDSHAKE),
        (201, 1 + HELLO, capture.ACK, 300, DATA),
    ]
    known = answers.acknowledged[3:].tolist()
    return [*first, *((501, HELLO + number, capture.ACK, 0, 0) for number in known)]


def pcapng(some: list[Segment]) -> bytes:
    """Return a capture of segments."""
    return (
        SECTION
        + INTERFACE
        + b"".join(packet(segment.frame(), START + segment.at) for segment in some)
    )


def pcap(some: list[Segment], order: str = "<", unit: int = 1000) -> bytes:
    """Return a capture of segments in the older format."""
    magic = 0xA1B2C3D4 if unit == 1000 else 0xA1B23C4D
    data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, 1)
    for segment in some:
        frame, at = segment.frame(), START + segment.at
        words = (
            at // 10**9,
            at % 10**9 // unit,
            len(frame),
            len(frame) + max(0, segment.payload - 1),
        )
        data += struct.pack(order + "IIII", *words) + frame
    return data
