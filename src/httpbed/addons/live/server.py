"""Serves the page of a campaign under way to who knows its address, and to nobody else.

Its socket listens on 127.0.0.1 alone, which each user of this machine reaches: the address has a
secret word, and other paths are forbidden. A page of a foreign site could give its own name this
address (DNS rebinding) and read the status, so requests for any other name are refused. The server
answers GET and HEAD, and reads nothing from a request but its path and a few headers.

A connection carries one request, of bounded length and duration; a few are open at a time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata, resources
from typing import Any

from markupsafe import Markup

from httpbed.base.errors import visible_values
from httpbed.report import templating

TEMPLATE = "live.html.j2"
STYLES = ("style.css", "live.css")
SCRIPT = "live.js"
NAMES = ("127.0.0.1", "localhost")
HTTP_PORT = 80
"""Browsers leave it out of the Host field."""
CONNECTION_S = 10.0
"""Time limit of a connection, so that a slow client keeps no thread."""
MAX_REQUEST_BYTES = 16_384
"""Upper bound of a request's line and header; a browser's has less than 1 kB."""
MAX_CONNECTIONS = 32
"""Open at a time; further ones are closed."""
HEADERS = {
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class LivePage:
    """The page of a campaign under way, with its Content Security Policy.

    The page has the report's style and one script. The policy allows both by their digests
    (decision 0024), and requests to the page's own server.
    """

    html: bytes
    policy: str


def live_page() -> LivePage:
    """Return the page; it has no word of a campaign."""
    style, script = "".join(map(_template_text, STYLES)), _template_text(SCRIPT)
    text = templating.render(
        TEMPLATE,
        __package__,
        style=Markup(style),  # noqa: S704 - httpbed's own file
        script=Markup(script),  # noqa: S704 - httpbed's own file
        httpbed=metadata.version("httpbed"),
    )
    return LivePage(text.encode(), _policy(style, script))


def _template_text(name: str) -> str:
    package = "httpbed.report" if name == "style.css" else __package__
    return (resources.files(package) / "templates" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return a status as JSON for the page, with escapes for characters that do not print."""
    return json.dumps(visible_values(document)).encode()


class StatusServer(ThreadingHTTPServer):
    """Serves a page and the latest status."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, secret: str) -> None:
        address, port = listening.getsockname()
        super().__init__((address, port), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.hosts = {f"{name}:{port}" for name in NAMES}
        self.hosts |= set(NAMES) if port == HTTP_PORT else set()
        self.prefix = f"/{secret}/".encode()
        self.page = live_page()
        self._free = threading.Semaphore(MAX_CONNECTIONS)
        self.status = b""
        """The latest status as JSON; empty before the first."""

    def show(self, document: Mapping[str, Any]) -> None:
        """Serve this status from now on."""
        self.status = encoded(document)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if few others are at work."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and let the next one in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that went away."""


class _BoundedRequest(io.RawIOBase):
    """What a client sends, to its first bytes and for a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._left = MAX_REQUEST_BYTES
        self._ends_s = time.monotonic() + CONNECTION_S

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; none after the last."""
        left_s = self._ends_s - time.monotonic()
        if left_s <= 0 or not self._left:
            return 0
        self._connection.settimeout(left_s)
        count = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


class _Handler(BaseHTTPRequestHandler):
    server: StatusServer
    timeout = CONNECTION_S

    def setup(self) -> None:
        """Bound what is read."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_BoundedRequest(self.connection))

    def do_GET(self) -> None:
        """Answer a request for the page or the status."""
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"wrong host\n")
            return
        path, prefix = self.path.encode(), self.server.prefix
        if not hmac.compare_digest(path[: len(prefix)], prefix):
            self._answer(HTTPStatus.FORBIDDEN, b"open the address that httpbed printed\n")
            return
        name = path[len(prefix) :]
        if not name:
            self._answer(HTTPStatus.OK, self.server.page.html, "text/html")
        elif name == b"status.json" and self.server.status:
            self._answer(HTTPStatus.OK, self.server.status, "application/json")
        elif name == b"status.json":  # the campaign is being read
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
def serving(listening: socket.socket, secret: str) -> Iterator[StatusServer]:
    """Serve in a thread of its own, below a path that is a secret word."""
    with StatusServer(listening, secret) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
