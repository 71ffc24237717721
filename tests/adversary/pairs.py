"""A client and a server that conspire: less than the file crosses the link, or too late.

The client is the one of this folder, and so is the server. Both have the file in the end, and both
say that all went well.
"""

from __future__ import annotations

import socket
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase

import traffic

ASIDE_PORT = 5000
DATAGRAM_BYTES = 1000
SMALL_RECORD_BYTES = 100
SILENCE_S = 1.0
LATE_BYTES, LATE_S = 10_000, 1.0
Answer = Callable[[BufferedIOBase, bytes, str], None]
"""Writes an answer with a body to a client, whose address is the last argument."""


def head(length: int) -> bytes:
    """Return the head of an answer."""
    return f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n".encode()


def parts(body: bytes, size: int) -> Iterator[bytes]:
    """Divide a body."""
    return (body[begin : begin + size] for begin in range(0, len(body), size))


def compressed(to: BufferedIOBase, body: bytes, address: str) -> None:
    """Send a third of the bytes, from which the client makes the file."""
    del address
    small = zlib.compress(body)
    to.write(head(len(small)) + small)


def padded(to: BufferedIOBase, body: bytes, address: str) -> None:
    """Send these, and make up the length with what the client need not wait for."""
    del address
    to.write(head(len(body)) + zlib.compress(body).ljust(len(body), b"."))


def small_records(to: BufferedIOBase, body: bytes, address: str) -> None:
    """Send the body in TLS records that each look like a farewell."""
    del address
    to.write(head(len(body)))
    to.writelines(parts(body, SMALL_RECORD_BYTES))


def aside(to: BufferedIOBase, body: bytes, address: str) -> None:
    """Send the body in datagrams to another port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for datagram in parts(body, DATAGRAM_BYTES):
            udp.sendto(datagram, (address, ASIDE_PORT))
    to.write(head(0))


ANSWERS: dict[str, Answer] = {
    answer.__name__: answer for answer in (compressed, padded, small_records, aside)
}


def from_compressed(body: bytes) -> bytes:
    """Make the file."""
    return zlib.decompressobj().decompress(body)


def from_datagrams() -> Callable[[bytes], bytes]:
    """Listen, and return what puts the datagrams together."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("", ASIDE_PORT))
    udp.settimeout(SILENCE_S)

    def together(body: bytes) -> bytes:
        return body + b"".join(datagrams(udp))

    return together


def datagrams(udp: socket.socket) -> Iterator[bytes]:
    """Yield what comes until there is silence."""
    try:
        while True:
            yield udp.recv(DATAGRAM_BYTES)
    except TimeoutError:
        return


def whole(body: bytes) -> bytes:
    """Take the body as it is."""
    return body


READERS: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "compressed": lambda: from_compressed,
    "padded": lambda: from_compressed,
    "aside": from_datagrams,
}
HASTES = {"small_records": traffic.half_close, "padded": traffic.half_close}
PATIENCE_S = {"padded": SILENCE_S}
"""Of those whose connection never ends."""
