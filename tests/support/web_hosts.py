"""Two web hosts on loopback, and a page whose resources are on both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
    "0000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)
PAGE = """<!doctype html><html><head><title>x</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="http://{other}/css?family=A"></head><body>
<img src="a.png?v=1"><img data-src="/lazy.png" id="lazy"><img src="/gone.png">
<script src="//{other}/app.js"></script><script>lazy.src = lazy.dataset.src</script>
</body></html>"""
OWN = """<!doctype html><title>x</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css"><img src="a.png"><script src="/own.js"></script>"""
CHANGING = """<!doctype html><link rel="icon" href="data:,"><img src="a.png">
<script>new Image().src = '/' + Math.random()</script>"""
MOVED = {"/": "/start", "/round": "/round", "/to": "http://"}
"""Redirects; the last leads to the host and path in its query."""
APP = "new Image().src = 'http://{other}/in.png'"


@contextmanager
def web_hosts() -> Iterator[tuple[str, str]]:
    """Serve both hosts; yield their names."""
    asked.clear()
    with _serving("127.0.0.1", {}) as (main, answers), _serving("127.0.0.2", answers) as (other, _):
        answers |= {
            "/start": ("text/html", PAGE.format(other=other).encode()),
            "/own": ("text/html", OWN.encode()),
            "/changing": ("text/html", CHANGING.encode()),
            "/style.css": ("text/css", b"body{background:url(bg.png)}"),
            "/own.js": ("text/javascript", b"new Image().src = '/in.png'"),
            "/css?family=A": ("text/css; charset=utf-8", b"@import 'deep.css';p{color:red}"),
            "/deep.css": ("text/css", b"body{background:url(bg.png)}"),
            "/app.js": ("application/javascript", APP.format(other=other).encode()),
            "/large": ("text/html", bytes(100_000)),
        }
        yield main, other


asked: list[str] = []
"""Host and path of all requests."""
_Answers = dict[str, tuple[str, bytes]]


@contextmanager
def _serving(address: str, answers: _Answers) -> Iterator[tuple[str, _Answers]]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{address}{self.path}")
            leads_to = MOVED.get(self.path.partition("?")[0])
            status = 302 if leads_to else 404 if self.path == "/gone.png" else 200
            kind, body = answers.get(self.path, ("image/png", PNG))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if leads_to:
                self.send_header("Location", leads_to + self.path.partition("?")[2])
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer((address, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"{address}:{server.server_port}", answers
        server.shutdown()
