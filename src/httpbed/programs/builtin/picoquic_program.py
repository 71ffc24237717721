"""An HTTP/3 client and server on picoquic, through aiopquic; aioquic's HTTP/3 runs above it.

Options, lines and access log are those of the aioquic client and server. Run by
recipes/picoquic.toml, in a root filesystem with Python, aiopquic and aioquic.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

from aiopquic.asyncio.client import connect
from aiopquic.asyncio.protocol import QuicConnectionProtocol
from aiopquic.asyncio.server import serve
from aiopquic.quic.configuration import QuicConfiguration
from aiopquic.quic.events import (
    ConnectionTerminated,
    StreamDataReceived,
    StreamReset,
)
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic import events as aioquic_events
from aioquic_server import find, media_type

NEVER_IDLE_S = 86400.0
"""Above every trial's limit: httpbed decides when a transfer has taken too long."""
CHUNK_BYTES = 2**18
"""Length of a DATA frame; picoquic's queue of a stream holds 4 MiB."""
START = time.monotonic()


class Connection(QuicConnectionProtocol):
    """One connection, as picoquic's library calls it, with aioquic's HTTP/3."""

    def __init__(self, quic: Any, stream_handler: object = None) -> None:
        super().__init__(quic, stream_handler=stream_handler)
        quic._quic_logger = None  # noqa: SLF001 - what aioquic's HTTP/3 looks for
        quic._remote_max_datagram_frame_size = 65535  # noqa: SLF001
        self.quic = quic
        self.http: H3Connection | None = None

    def quic_event_received(self, event: Any) -> None:
        """Pass streams to HTTP/3, in aioquic's words."""
        if isinstance(event, StreamReset | ConnectionTerminated):
            self.ended(event)
        elif isinstance(event, StreamDataReceived):
            told = aioquic_events.StreamDataReceived(
                bytes(event.data), event.end_stream, event.stream_id
            )
            for http_event in self.http3().handle_event(told):
                self.http_event(http_event)

    def http3(self) -> H3Connection:
        """Return HTTP/3, which sends its settings when it begins."""
        if self.http is None:
            self.http = H3Connection(self.quic)
        return self.http

    def ended(self, event: Any) -> None:
        """Handle the end of a stream or of the connection."""

    def http_event(self, event: Any) -> None:
        """Handle headers or data."""
        raise NotImplementedError

    def name(self) -> str:
        """Return the connection's name in records; empty once it is closed."""
        identifiers: dict[str, bytes] = self.quic.connection_ids or {}
        return identifiers.get("initial", b"").hex()


class Client(Connection):
    """Fetches files, each into its own."""

    def begin(self) -> None:
        """Prepare a round."""
        self.left: dict[int, tuple[dict[str, Any], BinaryIO]] = {}
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ask(self, host: str, path: str, file: Path) -> None:
        """Send one request."""
        stream = self.quic.get_next_available_stream_id()
        line = {"path": path, "status": 0, "body_bytes": 0, "first_byte_s": None}
        self.left[stream] = (line | {"began_s": time.monotonic() - START}, file.open("wb"))
        headers = {":method": "GET", ":scheme": "https", ":authority": host, ":path": path}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.http3().send_headers(stream, encoded, end_stream=True)

    def http_event(self, event: Any) -> None:
        """Write the file, and print the line of a complete one."""
        if event.stream_id not in self.left:
            return
        line, body = self.left[event.stream_id]
        if isinstance(event, HeadersReceived):
            line["status"] = line["status"] or int(dict(event.headers).get(b":status", b"0"))
        elif isinstance(event, DataReceived):
            line["first_byte_s"] = line["first_byte_s"] or time.monotonic() - START
            line["body_bytes"] += body.write(event.data)
        if event.stream_ended:
            del self.left[event.stream_id]
            body.close()
            line |= {"http_version": "3", "tls_version": "TLSv1.3", "connection": self.name()}
            line |= {"handshake_s": self.handshake_s, "ended_s": time.monotonic() - START}
            print(json.dumps(line), flush=True)
        if not self.left and not self.over.done():
            self.over.set_result(None)

    def ended(self, event: Any) -> None:
        """Report what ended before the files were there."""
        if self.left and not self.over.done():
            failure = ConnectionError(f"{type(event).__name__}, error {event.error_code:#x}")
            self.over.set_exception(failure)


class Server(Connection):
    """Serves the files of one folder."""

    options: argparse.Namespace

    def http_event(self, event: Any) -> None:
        """Answer a request when its headers are complete: a GET has no body."""
        if isinstance(event, HeadersReceived):
            task = asyncio.ensure_future(self.answer(event.stream_id, dict(event.headers)))
            task.add_done_callback(lambda done: done.exception())

    async def answer(self, stream: int, request: dict[bytes, bytes]) -> None:
        """Send a file, and log it; a stream's queue bounds what is sent at once."""
        path = request.get(b":path", b"/").decode(errors="replace")
        file = find(self.options.content, path)
        status, body = (200, file.read_bytes()) if file else (404, b"")
        line = {"protocol": "HTTP/3.0", "status": status, "body_bytes": len(body), "path": path}
        line["authority"] = request.get(b":authority", b"").decode(errors="replace")
        line |= {"connection": self.name(), "tls_version": "TLSv1.3"}
        with self.options.log.open("a") as log:
            log.write(json.dumps(line) + "\n")
        headers = [(b":status", b"%d" % status), (b"content-length", b"%d" % len(body))]
        headers += [(b"content-type", media_type(file).encode())]
        self.http3().send_headers(stream, headers, end_stream=not body)
        for at in range(0, len(body), CHUNK_BYTES):
            chunk = body[at : at + CHUNK_BYTES]
            # A DATA frame: type 0, and a length of four bytes (RFC 9114, section 7.2.1).
            frame = b"\0" + (len(chunk) | 0x80000000).to_bytes(4, "big") + chunk
            is_last = at + CHUNK_BYTES >= len(body)
            await self.quic.send_stream_data_drained(stream, frame, end_stream=is_last)


def configuration(options: argparse.Namespace) -> QuicConfiguration:
    """Return the settings of both roles."""
    return QuicConfiguration(
        alpn_protocols=["h3"],
        is_client=options.role == "get",
        idle_timeout=NEVER_IDLE_S,
        congestion_control_algorithm=options.congestion_control,
        max_data=options.max_data,
        max_stream_data=options.max_stream_data,
        server_name=options.server_name,
        cafile=options.ca,
        certificate_file=options.certificate,
        private_key_file=options.key,
    )


async def get(options: argparse.Namespace) -> None:
    """Fetch all files in each round."""
    async with connect(
        options.address,
        options.port,
        configuration=configuration(options),
        create_protocol=Client,
    ) as client:
        client.handshake_s = time.monotonic() - START
        for _ in range(options.rounds):
            client.begin()
            for request in options.requests:
                path, _, file = request.partition("=")
                client.ask(options.server_name, path, Path(file))
            await client.over


async def run(options: argparse.Namespace) -> None:
    """Serve until killed, or fetch."""
    if options.role == "get":
        await get(options)
        return
    Server.options = options
    await serve(
        options.address, options.port, configuration=configuration(options), create_protocol=Server
    )
    await asyncio.Event().wait()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("role", choices=("get", "serve"))
    parser.add_argument("requests", nargs="*", metavar="/PATH=FILE")
    for name in ("address", "server-name", "ca", "certificate", "key", "congestion-control"):
        parser.add_argument(f"--{name}")
    for name in ("port", "rounds", "max-data", "max-stream-data"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--content", type=lambda text: Path(text).resolve())
    parser.add_argument("--log", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    try:
        asyncio.run(run(arguments()))
    except OSError as failure:  # ConnectionError, and files that cannot be written
        print(json.dumps({"error": str(failure)}), flush=True)
        sys.exit(1)
