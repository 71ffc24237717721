"""An HTTP/3 server on aioquic: the files of one folder, and a line of JSON for each request.

With ``--bodies`` it stores the body of a PUT or POST in that folder, under the request's name.

Run by recipes/aioquic.toml, in a root filesystem with Python and aioquic.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import aioquic_records
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated, QuicEvent
from aioquic.tls import SessionTicket

NEVER_IDLE_S = 86400.0
"""Above every trial's limit: httpbed decides when a transfer has taken too long."""
FOUND, CREATED, NOT_FOUND = 200, 201, 404
UPLOADS = (b"PUT", b"POST")
Headers = dict[bytes, bytes]


CONTENT_TYPES = {
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "mjs": "text/javascript",
    "json": "application/json",
    "map": "application/json",
    "xml": "application/xml",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "ico": "image/x-icon",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "ttf": "font/ttf",
    "otf": "font/otf",
    "eot": "application/vnd.ms-fontobject",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "webmanifest": "application/manifest+json",
    "wasm": "application/wasm",
    "pdf": "application/pdf",
}
"""File name ending -> content type, as in ``addons/pages/sites/site``.

This program cannot import that table, and Python's own table depends on the machine."""


class Http3Connection(QuicConnectionProtocol):
    """One client's connection."""

    def __init__(
        self,
        *given: Any,
        content: Path,
        bodies: Path | None,
        announcement: dict[bytes, str],
        log: Path,
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self.content = content
        self.bodies = bodies
        self.uploads: dict[int, tuple[Headers, BinaryIO]] = {}
        """Requests whose bodies are stored, by their streams."""
        self.announcement = announcement
        self.log = log
        self.http: H3Connection | None = None
        self.handshake: HandshakeCompleted | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """Answer a GET when its header is complete, and an upload when its body is stored."""
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            self.handshake = event
        if self.http is not None:
            for http_event in self.http.handle_event(event):
                if isinstance(http_event, HeadersReceived):
                    self._begin(self.http, http_event)
                if isinstance(http_event, HeadersReceived | DataReceived):
                    self._store(self.http, http_event)

    def _begin(self, http: H3Connection, request: HeadersReceived) -> None:
        headers = dict(request.headers)
        if self.bodies is None or headers.get(b":method") not in UPLOADS:
            file = find(self.content, path_of(headers))
            self._answer(http, request.stream_id, headers, FOUND if file else NOT_FOUND, file)
        elif (place := inside(self.bodies, path_of(headers))) and place.parent == self.bodies:
            self.uploads[request.stream_id] = headers, place.open("wb")
        else:
            self._answer(http, request.stream_id, headers, NOT_FOUND)

    def _store(self, http: H3Connection, event: HeadersReceived | DataReceived) -> None:
        """Store a part of an upload; answer after the last one."""
        headers, file = self.uploads.get(event.stream_id, ({}, None))
        if file is None:
            return
        if isinstance(event, DataReceived):
            file.write(event.data)
        if event.stream_ended:
            file.close()
            del self.uploads[event.stream_id]
            self._answer(http, event.stream_id, headers, CREATED)

    def _answer(
        self,
        http: H3Connection,
        stream: int,
        request_headers: Headers,
        status: int,
        file: Path | None = None,
    ) -> None:
        body = file.read_bytes() if file else b""
        headers = {
            b":status": str(status),
            b"content-length": str(len(body)),
            b"content-type": media_type(file),
            **self.announcement,
        }
        encoded = [(name, value.encode()) for name, value in headers.items()]
        http.send_headers(stream, encoded, end_stream=not body)
        if body:
            http.send_data(stream, body, end_stream=True)
        self._record(request_headers, status, len(body))

    def _record(self, request_headers: Headers, status: int, body_bytes: int) -> None:
        """Log request and response; a request before the end of the handshake was early data."""
        early = self.handshake is None
        resumed = early or (self.handshake is not None and self.handshake.session_resumed)
        line = {
            "protocol": "HTTP/3.0",
            "status": status,
            "body_bytes": body_bytes,
            "method": request_headers.get(b":method", b"").decode(errors="replace"),
            "path": request_headers.get(b":path", b"").decode(errors="replace"),
            "authority": request_headers.get(b":authority", b"").decode(errors="replace"),
            "connection": self._quic.original_destination_connection_id.hex(),
            "tls_version": "TLSv1.3",
            "cipher": f"TLS_{self._quic.tls.key_schedule.cipher_suite.name}",
            "resumed": "r" if resumed else ".",
            "early_data": "1" if early else "",
        }
        with self.log.open("a") as file:
            file.write(json.dumps(line) + "\n")


def path_of(headers: Headers) -> str:
    """Return the path of a request."""
    return headers.get(b":path", b"/").decode(errors="replace")


def find(content: Path, path: str) -> Path | None:
    """Return the file of a path; None if it is missing or outside of the content."""
    file = inside(content, path)
    return file if file and file.is_file() else None


def inside(folder: Path, path: str) -> Path | None:
    """Return the place of a path in a folder; None if it is outside or no possible name."""
    name = unquote(urlsplit(path).path).lstrip("/")
    try:
        file = (folder / name).resolve()
        file.is_file()  # refuses a name that is too long
    except (OSError, ValueError):  # too long, or with a zero byte
        return None
    return file if file.is_relative_to(folder) else None


def media_type(file: Path | None) -> str:
    """Return a file's content type by its name."""
    return CONTENT_TYPES.get(file.suffix[1:].lower(), "text/plain") if file else "text/plain"


def announcement(options: argparse.Namespace) -> dict[bytes, str]:
    """Return the header by which a browser knows of HTTP/3 (Alt-Svc, RFC 7838)."""
    announces = options.announces == "HTTP/3"
    return {b"alt-svc": f'h3=":{options.port}"; ma=86400'} if announces else {}


async def run(options: argparse.Namespace) -> None:
    """Serve until killed."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        idle_timeout=NEVER_IDLE_S,
        max_data=options.max_data,
        max_stream_data=options.max_stream_data,
        max_datagram_size=options.max_datagram_size,
    )
    configuration.load_cert_chain(options.certificate, options.key)
    tickets: dict[bytes, SessionTicket] = {}
    with aioquic_records.kept(configuration, options):
        await serve(
            options.address,
            options.port,
            configuration=configuration,
            create_protocol=partial(
                Http3Connection,
                content=options.content,
                bodies=options.bodies,
                announcement=announcement(options),
                log=options.log,
            ),
            session_ticket_fetcher=tickets.get,
            session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
            retry=options.retry == "on",
        )
        await asyncio.Event().wait()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--content", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--bodies", type=lambda text: Path(text).resolve())
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--congestion-control", choices=("reno", "cubic"), required=True)
    parser.add_argument("--max-data", type=int, required=True)
    parser.add_argument("--max-stream-data", type=int, required=True)
    parser.add_argument("--max-datagram-size", type=int, required=True)
    parser.add_argument("--retry", choices=("on", "off"), required=True)
    parser.add_argument("--announces", choices=("nothing", "HTTP/3"), required=True)
    aioquic_records.add_arguments(parser)
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(run(arguments()))
