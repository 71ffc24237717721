"""Ten small pages that fill a screen in ten ways, and a server that answers as slowly as told."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

from PIL import Image, ImageDraw

PIECE_BYTES = 2000
HUES = ("#c0392b", "#2980b9", "#27ae60", "#f39c12", "#8e44ad", "#16a085")
TEXT = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all. " * 30
_HEAD = "<!doctype html><meta charset=utf-8><title>a page</title>"


@dataclass(frozen=True)
class Answer:
    """What the server sends, and when."""

    kind: str
    body: bytes
    delay_s: float = 0.0
    spread_s: float = 0.0
    """Over how long the body is sent."""


@dataclass(frozen=True)
class Site:
    """A page with all that it asks for, and how long it is watched once it has loaded."""

    answers: Mapping[str, Answer]
    watched_s: float = 0.8


def all_sites() -> dict[str, Site]:
    """Return the ten, by name."""
    return {
        "text": _site(f"<h1>A heading</h1><p>{TEXT}"),
        "images": _site(_images(6), _pictures(6, every_s=0.25)),
        "animation": _site(
            "<style>@keyframes go{to{margin-left:80%}}div{width:20%;height:400px;"
            "background:#c0392b;animation:go 1s linear infinite alternate}</style>"
            f"<h1>It moves</h1><div></div>{TEXT}",
            watched_s=0.9,
        ),
        "late-banner": _site(
            f"<h1>News</h1><p>{TEXT}<script>setTimeout(()=>{{let b=document.createElement('div');"
            "b.style='height:300px;background:#f39c12';document.body.prepend(b)},1200)</script>",
            watched_s=2.0,
        ),
        "tall": _site(
            "".join(f"<img src=/{n}.jpg width=100% height=600>" for n in range(8)),
            _pictures(8, every_s=0.3),
        ),
        "blank": _site("<p style='visibility:hidden'>nothing"),
        "dark": _site(
            "<style>body{background:#102030;color:#dde}</style>" + f"<p>{TEXT}" + _images(2),
            _pictures(2, every_s=0.5),
        ),
        "placeholder": _site(
            "<div id=p style='position:fixed;inset:0;background:#9b59b6'></div><h1>Ready</h1>"
            f'<p>{TEXT}<img src=/0.jpg width=500 onload="setTimeout(()=>p.remove(),300)">',
            _pictures(1, every_s=0.7, first_s=0.7),
            watched_s=1.2,
        ),
        "slow-image": _site(
            "<h1>One picture</h1><img src=/0.jpg width=1300 height=600>",
            {"/0.jpg": Answer("image/jpeg", _picture(0, (1300, 600)), 0.2, spread_s=2.0)},
        ),
        "blocked": _site(
            f"<link rel=stylesheet href=/s.css><h1>Late</h1>{_images(3)}<p>{TEXT}",
            {
                "/s.css": Answer("text/css", b"body{background:#ffeedd}h1{color:#c0392b}", 1.0),
                **_pictures(3, every_s=0.4, first_s=0.4),
            },
        ),
    }


def _site(body: str, others: Mapping[str, Answer] | None = None, watched_s: float = 0.8) -> Site:
    page = Answer("text/html", (_HEAD + body).encode(), delay_s=0.1)
    return Site({"/": page, **(others or {})}, watched_s)


def _images(count: int) -> str:
    return "".join(f"<img src=/{n}.jpg width=400 height=300>" for n in range(count))


def _pictures(count: int, every_s: float, first_s: float = 0.2) -> dict[str, Answer]:
    return {
        f"/{n}.jpg": Answer("image/jpeg", _picture(n, (400, 300)), first_s + n * every_s)
        for n in range(count)
    }


def _picture(number: int, size: tuple[int, int]) -> bytes:
    picture = Image.linear_gradient("L").resize(size).convert("RGB")
    drawing = ImageDraw.Draw(picture)
    width, height = size
    for step, hue in enumerate(HUES):
        left = (step + number) % len(HUES) * width // len(HUES)
        drawing.ellipse((left, height // 4, left + width // 5, 3 * height // 4), fill=hue)
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=85)
    return written.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Answers from the site that is being loaded."""

    protocol_version = "HTTP/1.1"
    site: ClassVar[Site]

    def do_GET(self) -> None:
        """Send what the site says; anything else is not there."""
        answer = self.site.answers.get(self.path)
        if answer is None:
            self.send_error(404)
            return
        time.sleep(answer.delay_s)
        self.send_response(200)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        pieces = range(0, len(answer.body), PIECE_BYTES)
        for start in pieces:
            self.wfile.write(answer.body[start : start + PIECE_BYTES])
            time.sleep(answer.spread_s / len(pieces))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Stay silent."""


def serve() -> ThreadingHTTPServer:
    """Listen on a free port of loopback."""
    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)
