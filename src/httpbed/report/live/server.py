"""Serves the page of a campaign under way to browsers on this machine, and to nobody else.

Its socket listens on 127.0.0.1 alone. A page of a foreign site could give its own
name this address (DNS rebinding) and read the status, so requests for any other name are refused.
It answers GET and HEAD, and reads nothing from a request but its path and a few headers.
"""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from httpbed.report.live import page

NAMES = ("127.0.0.1", "localhost")
HTTP_PORT = 80
"""Browsers leave it out of the Host field."""
REQUEST_S = 10.0
"""Time limit for a request to arrive, so that an idle client keeps no thread."""
HEADERS = {
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class StatusServer(ThreadingHTTPServer):
    """Serves a page and the latest status."""

    daemon_threads = True

    def __init__(self, listening: socket.socket) -> None:
        address, port = listening.getsockname()
        super().__init__((address, port), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.hosts |= set(NAMES) if port == HTTP_PORT else set()
        self.page = page.make()
        self.status = b""
        """The latest status as JSON; empty before the first."""

    def show(self, document: Mapping[str, Any]) -> None:
        """Serve this status from now on."""
        self.status = page.encoded(document)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: StatusServer
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_S

    def do_GET(self) -> None:
        """Answer a request for the page or the status."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"wrong host\n")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, self.server.page.html, "text/html")
        elif self.path == "/status.json" and self.server.status:
            self._answer(HTTPStatus.OK, self.server.status, "application/json")
        elif self.path == "/status.json":  # the campaign is being read
            self._answer(HTTPStatus.NO_CONTENT, b"")
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"not found\n")

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain") -> None:
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if status == HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            status, body = HTTPStatus.NOT_MODIFIED, b""
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", self.server.page.policy)
        self.send_header("ETag", tag)
        if body:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing: a page asks every two seconds."""


@contextmanager
def serving(listening: socket.socket) -> Iterator[StatusServer]:
    """Serve in a thread of its own."""
    with StatusServer(listening) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
