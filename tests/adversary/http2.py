"""Requests over HTTP/2 in raw frames (RFC 9113), by a client that may close its side at any time.

It never sends anything after its requests: windows are as large as they can be from the start.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
INITIAL_WINDOW_SIZE, LARGEST_WINDOW = 4, 2**31 - 1
STATUS_200 = 0x88
"""Index of ``:status: 200`` in HPACK's static table (RFC 7541, appendix A)."""


def fetch(
    connection: ssl.SSLSocket,
    name: str,
    paths: Sequence[str],
    haste: Callable[[socket.socket, int], None],
) -> list[tuple[int, bytes]]:
    """Ask for all paths at once; return the status and the body of each answer."""
    streams = range(1, 2 * len(paths), 2)
    asked = [headers(stream, name, path) for stream, path in zip(streams, paths, strict=True)]
    connection.sendall(b"".join([PREFACE, *windows(), *asked]))
    haste(connection, 0)
    status, bodies = dict.fromkeys(streams, 0), dict.fromkeys(streams, b"")
    open_streams = set(streams)
    for kind, flags, stream, payload in frames(connection):
        if kind == HEADERS and not status[stream]:
            status[stream] = 200 if STATUS_200 in payload[:4] else 500
        elif kind == DATA:
            bodies[stream] += payload[1 : -payload[0] or None] if flags & PADDED else payload
            haste(connection, sum(map(len, bodies.values())))
        if kind == RST_STREAM or (kind in {DATA, HEADERS} and flags & END_STREAM):
            open_streams.discard(stream)
        if kind == GOAWAY or not open_streams:
            break
    return [(status[stream], bodies[stream]) for stream in streams]


def windows() -> Iterator[bytes]:
    """Open the windows of all streams and of the connection."""
    setting = INITIAL_WINDOW_SIZE.to_bytes(2, "big") + LARGEST_WINDOW.to_bytes(4, "big")
    yield frame(SETTINGS, 0, 0, setting)
    yield frame(WINDOW_UPDATE, 0, 0, (LARGEST_WINDOW - 65535).to_bytes(4, "big"))


def headers(stream: int, name: str, path: str) -> bytes:
    """Return a GET request; 0x82 is its method and 0x87 its scheme in HPACK's static table."""
    block = bytes([0x82, 0x87]) + literal(1, name) + literal(4, path)
    return frame(HEADERS, END_STREAM | END_HEADERS, stream, block)


def literal(index: int, value: str) -> bytes:
    """Return a field of which the table has the name, without indexing (RFC 7541, 6.2.2)."""
    return bytes([index, len(value)]) + value.encode()


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame."""
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


def frames(connection: ssl.SSLSocket) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield the type, flags, stream and payload of each frame until the connection's end."""
    buffered = b""
    while chunk := connection.recv(65536):
        buffered += chunk
        while len(buffered) >= 9 and len(buffered) >= (
            end := 9 + int.from_bytes(buffered[:3], "big")
        ):
            stream = int.from_bytes(buffered[5:9], "big") & LARGEST_WINDOW
            yield buffered[3], buffered[4], stream, buffered[9:end]
            buffered = buffered[end:]
