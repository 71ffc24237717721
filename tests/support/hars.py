"""HAR files to replay, as a browser exports them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from httpbed.addons.pages.har import har_file
from httpbed.addons.pages.har.har_file import HarDocument

_BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)
PAGE = "page_1"


@dataclass(frozen=True)
class Said:
    """A short form of an entry; times are in ms since the start of the page."""

    url: str
    at: float = 0.0
    lasted: float = 50.0
    status: int = 200
    size: int | None = 1000
    """Bytes of the body as sent; None if the tool does not report them."""
    wait: float = 40.0
    connect: float = -1
    kind: str = "image"
    mime: str = "image/png"
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    initiator: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    response: Mapping[str, Any] = field(default_factory=dict)

    def entry(self) -> dict[str, Any]:
        """Write the entry."""
        started = (_BEGAN + timedelta(milliseconds=self.at)).isoformat(timespec="milliseconds")
        content: dict[str, Any] = {"mimeType": self.mime, "size": self.size or 0}
        if self.text is not None:
            content |= {"text": self.text, "size": len(self.text.encode())}
        fields = {"content-type": self.mime} | dict(self.headers)
        timings = {"blocked": 0, "dns": -1, "connect": self.connect, "ssl": -1, "send": 0}
        timings |= {"wait": self.wait, "receive": max(0, self.lasted - self.wait)}
        return {
            "pageref": PAGE,
            "startedDateTime": started,
            "time": self.lasted,
            "request": {"method": self.method, "url": self.url, "headers": []},
            "response": {
                "status": self.status,
                "headers": [{"name": name, "value": value} for name, value in fields.items()],
                "content": content,
                "redirectURL": fields.get("location", ""),
                "bodySize": -1 if self.size is None else self.size,
                **self.response,
            },
            "timings": timings,
            "_resourceType": self.kind,
            **({"_initiator": {"type": "parser", "url": self.initiator}} if self.initiator else {}),
            **self.more,
        }


def har(entries: Iterable[Said | dict[str, Any]]) -> str:
    """Write a HAR file of one page."""
    page = {"id": PAGE, "startedDateTime": _BEGAN.isoformat(), "title": "", "pageTimings": {}}
    written = [entry.entry() if isinstance(entry, Said) else entry for entry in entries]
    creator = {"name": "written by hand", "version": "1"}
    log = {"version": "1.2", "creator": creator, "pages": [page], "entries": written}
    return json.dumps({"log": log})


def read(entries: Iterable[Said]) -> HarDocument:
    """Write a HAR file, and read it."""
    return har_file.read(har(entries).encode(), "site.har")


MAIN, CDN, STATS = "https://www.page.test", "https://cdn.page.test", "https://stats.example.test"
_STYLE = "body { color: #123 }\n" * 40

MIXED = (
    Said(f"{MAIN}/", 0, 80, size=6000, wait=60, connect=20, kind="document", mime="text/html"),
    Said(f"{MAIN}/a.css", 70, 60, size=840, kind="stylesheet", mime="text/css", text=_STYLE,
         initiator=f"{MAIN}/", headers={"cache-control": "max-age=60", "x-one": "1"}),
    Said(f"{CDN}/lib.js?v=1", 75, 90, size=40_000, connect=20, kind="script",
         mime="text/javascript", initiator=f"{MAIN}/"),
    Said(f"{MAIN}/gone.png", 90, 30, status=404, size=120, initiator=f"{MAIN}/"),
    Said(f"{MAIN}/old.png", 135, 25, status=301, size=0, initiator=f"{MAIN}/a.css",
         headers={"location": f"{CDN}/new.png"}),
    Said(f"{CDN}/new.png", 160, 60, size=25_000, initiator=f"{MAIN}/a.css"),
    Said(f"{MAIN}/data.json", 170, 150, size=900, wait=140, kind="xhr", mime="application/json",
         initiator=f"{CDN}/lib.js?v=1", headers={"content-encoding": "gzip"},
         text=json.dumps({"items": list(range(400))})),
    Said(f"{CDN}/i.png", 180, 30, size=0, status=204, initiator=f"{CDN}/lib.js?v=1"),
    Said(f"{STATS}/t?e=1", 325, 45, status=204, size=0, connect=20, kind="ping", mime=""),
    Said(f"{STATS}/t?e=1", 400, 45, status=500, size=77, kind="ping", mime="text/plain",
         text="x" * 77),
    Said(f"{STATS}/big.bin", 450, 300, size=300_000, kind="fetch", mime="application/octet-stream"),
    Said(f"{MAIN}/late.png", 760, 40, size=4_321),
)  # fmt: skip
"""Twelve requests to three origins: with or without body, redirects, errors, changing answers."""

_X, _Y, _ADDRESS = "https://x.test", "https://y.test:8443", "https://192.0.2.9"
_OWN = "https://server.httpbed.test"
_NOSNIFF = {"x-content-type-options": "nosniff"}
_POSTED = {"method": "POST", "headers": [], "postData": {"text": "y" * 5000}}

ODD = (
    Said(f"{_X}/", 0, 30, status=302, size=0, kind="document",
         headers={"location": f"{_OWN}/index.html"}),
    Said(f"{_OWN}/index.html", 40, 40, size=90, kind="document", mime="text/html",
         headers={"content-security-policy": "default-src 'none'",
                  "link": "</other.css>; rel=preload; as=style"}),
    Said(f"{_Y}/frame.html", 100, size=500, mime="text/html",
         headers={**_NOSNIFF, "cross-origin-resource-policy": "same-origin"}),
    Said(f"{_ADDRESS}/a.json", 110, size=600, mime="application/json", headers=_NOSNIFF),
    Said(f"{_X}/auth", 120, size=70, status=401, headers={"www-authenticate": "Basic realm=x"}),
    Said(f"{_X}/post", 130, size=70, method="POST",
         more={"request": {**_POSTED, "url": f"{_X}/post"}}),
    Said(f"{_X}/head", 140, size=70, method="HEAD"),
    Said(f"{_Y}/1", 150, 20, status=307, size=0, headers={"location": f"{_ADDRESS}/2"}),
    Said(f"{_ADDRESS}/2", 170, 20, status=302, size=0, headers={"location": f"{_X}/3"}),
    Said(f"{_X}/3", 190, 20, size=300),
    Said(f"{_X}/kept", 200, 20, size=0, status=304),
    Said(f"{_X}/nowhere", 210, 20, size=11, status=301),
    Said(f"{_X}/q?{'z' * 7700}", 220, 20, size=200, headers={"x-big": "b" * 15_000}),
    Said(f"{_X}/sp ace/\u00fc'\"<>|^`{{}}?a='\"<>`{{}}|^", 230, 20, size=55),
    Said(f"{_X}//dd//e/../f", 240, 20, size=56),
    Said(f"{_X}/coded", 250, 20, size=57, headers={"content-encoding": "br"}),
    Said("http://plain.test/x", 260, 20, size=58),
    Said(f"{_X}/part", 290, 20, size=5000, status=206, mime="video/mp4",
         headers={"content-range": "bytes 0-4999/90000"}),
)  # fmt: skip
"""Entries to which a browser would react if they were not replayed."""
