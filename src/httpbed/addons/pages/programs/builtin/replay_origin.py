"""Answers requests for a replayed site with the recorded status, head, body and delay.

The server under test terminates the browser's connections and forwards each request to this
program, over HTTP/1.1 on the loopback interface of its own host. Responses are looked up by method,
host and path. Several responses to one key are sent in order, and the last one repeatedly.

A script may read another origin's response only with that origin's permission (Fetch Standard,
section 3.3). A skeleton's script gets every permission: they succeeded when recorded, or
loaded something that no script reads.

Each request is a line of the log, with nanoseconds of CLOCK_MONOTONIC. Standard library only.
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

MAX_HEAD_BYTES = 2**18
SLICE_BYTES = 2**18
"""Bytes of a body that are handed to the kernel at once."""
PRIOR_PATH, PRIOR_FILE = "/.httpbed/prior.txt", "0/.httpbed/prior.txt"
"""The file of visits before the measured one."""
PHRASES = {one.value: one.phrase for one in HTTPStatus}
WITHOUT_BODY = frozenset({204, 304})
NOT_RECORDED = b"HTTP/1.1 404 Not Recorded\r\nContent-Length: 0\r\n\r\n"
PERMITTING = frozenset({"access-control-allow-origin", "access-control-allow-credentials"})

Key = tuple[str, str, str]
"""Method, host, path."""


@dataclass(frozen=True)
class StoredResponse:
    """The response to one request."""

    number: int
    """Its index among all responses; -1 if it is not from the HAR file."""
    head: str
    """Without the empty line at its end."""
    unpermitted: str
    """The head without the fields that permit scripts to read the body."""
    body: memoryview
    delay_s: float


class ResponseTable:
    """All responses, and how often each key was requested."""

    def __init__(self, folder: Path) -> None:
        table = json.loads((folder / "answers.json").read_text("utf-8"))
        self._answers: dict[Key, list[StoredResponse]] = {}
        for number, one in enumerate(table["answers"]):
            key = (one["method"], one["host"], one["path"])
            self._answers.setdefault(key, []).append(_response(number, one, folder))
        prior = _body(folder / PRIOR_FILE)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(prior)}\r\n"
        for host in table["hosts"]:
            key = ("GET", host, PRIOR_PATH)
            self._answers.setdefault(key, [StoredResponse(-1, head, head, prior, 0.0)])
        self.permits_all = bool(table["skeleton"])
        self._requested: Counter[Key] = Counter()

    def answer(self, key: Key) -> StoredResponse | None:
        """Return the next response to a request; None if there is none."""
        responses = self._answers.get(key)
        if responses is None:
            return None
        number = min(self._requested[key], len(responses) - 1)
        self._requested[key] += 1
        return responses[number]


def _response(number: int, recorded: Mapping[str, Any], folder: Path) -> StoredResponse:
    body = _body(folder / recorded["file"])
    status = f"HTTP/1.1 {recorded['status']} {PHRASES.get(recorded['status'], 'Recorded')}\r\n"
    length = "" if recorded["status"] in WITHOUT_BODY else f"Content-Length: {len(body)}\r\n"
    fields = [(name, f"{name}: {value}\r\n") for name, value in recorded["headers"]]
    head = status + "".join(text for _, text in fields) + length
    others = "".join(text for name, text in fields if name.lower() not in PERMITTING)
    return StoredResponse(number, head, status + others + length, body, float(recorded["delay_s"]))


def _body(file: Path) -> memoryview:
    with file.open("rb") as handle:
        if not handle.seek(0, 2):
            return memoryview(b"")
        return memoryview(mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ))


class ServerConnection(asyncio.Protocol):
    """A connection of the server under test, which sends one request after another."""

    def __init__(self, site: ResponseTable, log: TextIO) -> None:
        self._site, self._log = site, log
        self._received = bytearray()
        self._skipped = 0
        """Bytes of a request's body that are still to come."""
        self._rest = memoryview(b"")
        """Rest of the body that is being sent."""
        self._is_answering, self._is_paused = False, False
        self._log_line: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for responses."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP's is one
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        self._received += data
        self._go_on()

    def pause_writing(self) -> None:
        """Wait until the server under test has read more."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Send more."""
        self._is_paused = False
        self._send()

    def _go_on(self) -> None:
        skipped = min(self._skipped, len(self._received))
        del self._received[:skipped]
        self._skipped -= skipped
        if self._is_answering or self._skipped:
            return
        end = self._received.find(b"\r\n\r\n")
        if end >= 0:
            head = bytes(self._received[:end]).decode("latin-1").split("\r\n")
            del self._received[: end + 4]
            self._take(head)
        elif len(self._received) > MAX_HEAD_BYTES:
            self._transport.abort()

    def _take(self, lines: list[str]) -> None:
        requested_ns = time.monotonic_ns()
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
        response = self._site.answer((method, host, path))
        self._is_answering = True
        self._log_line = {
            "method": method,
            "host": host,
            "path": path,
            "answer": response.number if response else None,
            "requested_ns": requested_ns,
        }
        loop = asyncio.get_running_loop()
        delay_s = response.delay_s if response else 0.0
        loop.call_later(delay_s, self._begin, response, fields.get("origin", ""))

    def _begin(self, response: StoredResponse | None, origin: str) -> None:
        if self._transport.is_closing():
            return
        self._log_line["begun_ns"] = time.monotonic_ns()
        if response is None:
            self._transport.write(NOT_RECORDED)
        else:
            head = (
                _permitting(response, origin)
                if origin and self._site.permits_all
                else response.head
            )
            self._transport.write(head.encode() + b"\r\n")
            self._rest = response.body
        self._send()

    def _send(self) -> None:
        while len(self._rest) and not self._is_paused:
            now, self._rest = self._rest[:SLICE_BYTES], self._rest[SLICE_BYTES:]
            self._transport.write(now)
        if self._is_answering and not len(self._rest):
            self._log_line["ended_ns"] = time.monotonic_ns()
            self._log.write(json.dumps(self._log_line) + "\n")
            self._is_answering = False
            asyncio.get_running_loop().call_soon(self._go_on)


def _permitting(response: StoredResponse, origin: str) -> str:
    """Return a head that permits the requesting origin to read the body."""
    fields = f"Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Allow-Credentials: true\r\n"
    if all(line in response.head.lower() for line in fields.lower().splitlines()):
        return response.head
    return response.unpermitted + fields


async def serve(options: argparse.Namespace, log: TextIO) -> None:
    """Answer until a signal ends the program."""
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
    """Answer until a signal ends the program, and log each request."""
    options = arguments(sys.argv[1:])
    with options.log.open("w", encoding="utf-8") as log:
        asyncio.run(serve(options, log))


if __name__ == "__main__":
    main()
