"""Answers a recorded site's requests as they were recorded: status, head, body, delay.

The server under test ends the browser's connections and passes each request on to here, over
HTTP/1.1 on the loopback interface of its own host. An answer is looked up by method, host and path;
several of one are given one after the other, and the last of them again and again.

A script may read what another origin answers only where that one permits it (Fetch Standard,
section 3.3). A skeleton's script is permitted everything: what it asks for was allowed in the
recording, or was loaded as something that is not read.

Each request is a line of the log, with nanoseconds of CLOCK_MONOTONIC. The standard library only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mmap
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TextIO

MOST_HEAD_BYTES = 2**18
SLICE_BYTES = 2**18
"""Of a body that is given to the kernel at once."""
PRIOR_PATH, PRIOR_FILE = "/.httpbed/prior.txt", "0/.httpbed/prior.txt"
"""For visits before the measured one."""
PHRASES = {one.value: one.phrase for one in HTTPStatus}
WITHOUT_BODY = frozenset({204, 304})
NOBODY = b"HTTP/1.1 404 Not Recorded\r\nContent-Length: 0\r\n\r\n"
PERMITTING = frozenset({"access-control-allow-origin", "access-control-allow-credentials"})

Key = tuple[str, str, str]
"""Method, host, path."""


@dataclass(frozen=True)
class StoredResponse:
    """What is answered to one request."""

    number: int
    """Its place among all; -1 of what was not recorded."""
    head: str
    """Without the empty line at its end."""
    unpermitted: str
    """The head without the fields that say who may read the body."""
    body: memoryview
    delay_s: float


class ResponseTable:
    """All answers, and how often each was asked for."""

    def __init__(self, folder: Path) -> None:
        said = json.loads((folder / "answers.json").read_text("utf-8"))
        self._answers: dict[Key, list[StoredResponse]] = {}
        for number, one in enumerate(said["answers"]):
            key = (one["method"], one["host"], one["path"])
            self._answers.setdefault(key, []).append(_answer(number, one, folder))
        prior = _body(folder / PRIOR_FILE)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(prior)}\r\n"
        for host in said["hosts"]:
            key = ("GET", host, PRIOR_PATH)
            self._answers.setdefault(key, [StoredResponse(-1, head, head, prior, 0.0)])
        self.permits_all = bool(said["skeleton"])
        self._asked: Counter[Key] = Counter()

    def answer(self, key: Key) -> StoredResponse | None:
        """Return the next answer to such a request."""
        found = self._answers.get(key)
        if found is None:
            return None
        number = min(self._asked[key], len(found) - 1)
        self._asked[key] += 1
        return found[number]


def _answer(number: int, said: Mapping[str, Any], folder: Path) -> StoredResponse:
    body = _body(folder / said["file"])
    status = f"HTTP/1.1 {said['status']} {PHRASES.get(said['status'], 'Recorded')}\r\n"
    length = "" if said["status"] in WITHOUT_BODY else f"Content-Length: {len(body)}\r\n"
    fields = [(name, f"{name}: {value}\r\n") for name, value in said["headers"]]
    head = status + "".join(text for _, text in fields) + length
    others = "".join(text for name, text in fields if name.lower() not in PERMITTING)
    return StoredResponse(number, head, status + others + length, body, float(said["delay_s"]))


def _body(file: Path) -> memoryview:
    with file.open("rb") as handle:
        if not handle.seek(0, 2):
            return memoryview(b"")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))


class ServerConnection(asyncio.Protocol):
    """One connection of the server under test; it asks one thing after another."""

    def __init__(self, site: ResponseTable, log: TextIO) -> None:
        self._site, self._log = site, log
        self._come = bytearray()
        self._skipped = 0
        """Bytes of a request's body that are still to come."""
        self._rest = memoryview(b"")
        """Of the body that is being sent."""
        self._is_answering, self._is_paused = False, False
        self._told: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where to answer."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP's is one
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        self._come += data
        self._go_on()

    def pause_writing(self) -> None:
        """Wait until the server under test has taken more."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Send more."""
        self._is_paused = False
        self._send()

    def _go_on(self) -> None:
        skipped = min(self._skipped, len(self._come))
        del self._come[:skipped]
        self._skipped -= skipped
        if self._is_answering or self._skipped:
            return
        end = self._come.find(b"\r\n\r\n")
        if end >= 0:
            head = bytes(self._come[:end]).decode("latin-1").split("\r\n")
            del self._come[: end + 4]
            self._take(head)
        elif len(self._come) > MOST_HEAD_BYTES:
            self._transport.abort()

    def _take(self, lines: list[str]) -> None:
        asked_ns = time.monotonic_ns()
        method, path, *_ = (*lines[0].split(" "), "", "")
        fields = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        length = fields.get("content-length", "0")
        if not length.isascii() or not length.isdecimal():
            self._transport.abort()
            return
        self._skipped = int(length)
        host = fields.get("host", "").lower().removesuffix(":443")
        found = self._site.answer((method, host, path))
        self._is_answering = True
        self._told = {
            "method": method,
            "host": host,
            "path": path,
            "answer": found.number if found else None,
            "asked_ns": asked_ns,
        }
        loop = asyncio.get_running_loop()
        delay_s = found.delay_s if found else 0.0
        loop.call_later(delay_s, self._begin, found, fields.get("origin", ""))

    def _begin(self, found: StoredResponse | None, origin: str) -> None:
        if self._transport.is_closing():
            return
        self._told["begun_ns"] = time.monotonic_ns()
        if found is None:
            self._transport.write(NOBODY)
        else:
            head = _permitting(found, origin) if origin and self._site.permits_all else found.head
            self._transport.write(head.encode() + b"\r\n")
            self._rest = found.body
        self._send()

    def _send(self) -> None:
        while len(self._rest) and not self._is_paused:
            now, self._rest = self._rest[:SLICE_BYTES], self._rest[SLICE_BYTES:]
            self._transport.write(now)
        if self._is_answering and not len(self._rest):
            self._told["ended_ns"] = time.monotonic_ns()
            self._log.write(json.dumps(self._told) + "\n")
            self._is_answering = False
            asyncio.get_running_loop().call_soon(self._go_on)


def _permitting(found: StoredResponse, origin: str) -> str:
    """Return a head that permits who asks to read the body, as recorded if that does."""
    said = f"Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Allow-Credentials: true\r\n"
    if all(line in found.head.lower() for line in said.lower().splitlines()):
        return found.head
    return found.unpermitted + said


async def serve(options: argparse.Namespace, log: TextIO) -> None:
    """Answer until told to end."""
    site = ResponseTable(options.site)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for word in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(word, ended.set)
    server = await loop.create_server(
        lambda: ServerConnection(site, log), "127.0.0.1", options.port, backlog=1024
    )
    await ended.wait()
    server.close()


def arguments(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Answer a recorded site's requests.")
    parser.add_argument("--site", type=Path, required=True, help="folder with answers.json")
    parser.add_argument("--port", type=int, required=True, help="on the loopback interface")
    parser.add_argument("--log", type=Path, required=True, help="a line for each request")
    return parser.parse_args(words)


def main() -> None:
    """Answer until told to end, and write down what was asked."""
    options = arguments(sys.argv[1:])
    with options.log.open("w", encoding="utf-8") as log:
        asyncio.run(serve(options, log))


if __name__ == "__main__":
    main()
