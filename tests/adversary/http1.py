"""Requests over HTTP/1.1 in one write, by a client that may close its side at any time."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence

LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


def fetch(
    connection: ssl.SSLSocket,
    name: str,
    paths: Sequence[str],
    haste: Callable[[socket.socket, int], None],
) -> list[tuple[int, bytes]]:
    """Ask for all paths at once; return the status and the body of each answer."""
    connection.sendall(b"".join(asked(name, paths)))
    haste(connection, 0)
    answer = b""
    for chunk in chunks(connection):
        answer += chunk
        haste(connection, len(answer))
    answers = separate(answer)
    return [next(answers) for _path in paths]


def asked(name: str, paths: Sequence[str]) -> Iterator[bytes]:
    """Yield the requests; the last one closes the connection."""
    for path in paths[:-1]:
        yield f"GET {path} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()
    yield f"GET {paths[-1]} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()


def chunks(connection: ssl.SSLSocket) -> Iterator[bytes]:
    """Read a connection to its end, or to its time-out; TLS may want to write at the end."""
    try:
        while chunk := connection.recv(65536):
            yield chunk
    except (TimeoutError, BrokenPipeError):
        return


def separate(answer: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the status and the body of each answer; one that never came is empty."""
    while answer:
        head, _, answer = answer.partition(b"\r\n\r\n")
        found = LENGTH.search(head)
        length = int(found[1]) if found else len(answer)
        yield int(head.split(maxsplit=2)[1]), answer[:length]
        answer = answer[length:]
    while True:
        yield 0, b""
