"""Page loads and HAR files that several tests use."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

BEGAN = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
HOST = "https://server.httpbed.test"


def fetched(name: str, at_s: float, **said: Any) -> PageRequest:
    """Make a request that took 50 ms, 10 ms of them in a queue."""
    times: dict[str, Any] = {
        "queued_s": at_s,
        "started_s": at_s + 0.010,
        "send_start_s": at_s + 0.0125,
        "send_end_s": at_s + 0.013,
        "headers_end_s": at_s + 0.0431,
        "ended_s": at_s + 0.050,
    }
    about: dict[str, Any] = {
        "id": name,
        "url": f"{HOST}/{name}",
        "http_version": "2",
        "status": 200,
        "kind": "Image",
        "mime_type": "image/jpeg",
        "priority": "Low",
        "initiator": f"{HOST}/",
        "initiator_kind": "parser",
        "connection": "17",
        "remote": "10.0.0.2:443",
        "wire_bytes": 10_150,
        "body_bytes": 10_000,
    }
    return PageRequest(**(about | times | said))


def document(**said: Any) -> PageRequest:
    """Make the request of the document, which opens a connection."""
    about: dict[str, Any] = {
        "url": f"{HOST}/?q=a%20b",
        "kind": "Document",
        "mime_type": "text/html",
        "priority": "VeryHigh",
        "initiator": "",
        "initiator_kind": "other",
        "dns_start_s": 0.001,
        "dns_end_s": 0.002,
        "connect_start_s": 0.002,
        "connect_end_s": 0.0113,
        "tls_start_s": 0.005,
        "tls_end_s": 0.0113,
        "started_s": 0.0004,
        "request_headers": (("cookie", "a=1; b=2"),),
        "response_headers": (("content-type", "text/html"), ("set-cookie", "c=3; Path=/")),
    }
    return fetched("document", 0.0, **(about | said))


def load() -> BrowserLoad:
    """Make a load with one request of each kind."""
    return BrowserLoad(
        url=f"{HOST}/?q=a%20b",
        ended="loaded",
        product="HeadlessChrome/156.0.1.2",
        requests=(
            document(),
            fetched("1.jpg", 0.060),
            fetched("2.jpg", 0.060, from_cache=True, send_start_s=None, send_end_s=None),
            fetched("3.jpg", 0.061, status=0, failed="net::ERR_FAILED", headers_end_s=None),
            fetched("4.jpg", 0.062, status=302, redirected_to=f"{HOST}/1.jpg", connection="18"),
        ),
        content_loaded_s=0.0613,
        onload_s=0.120,
        first_contentful_paint_s=0.080,
        largest_contentful_paint_s=0.118,
        title="<script>alert(1)</script>",
    )


def entry(**said: Any) -> dict[str, Any]:
    """Make an entry of a HAR file with the required fields and these fields."""
    least = {
        "startedDateTime": "2026-01-31T12:00:00.250Z",
        "request": {"method": "GET", "url": f"{HOST}/"},
        "response": {"status": 200},
    }
    return least | said


def page(**said: Any) -> dict[str, Any]:
    """Make a page that loaded after 1 s, with these fields, for entries without a page."""
    least = {"id": "", "startedDateTime": "2026-01-31T12:00:00.250Z", "title": ""}
    return least | {"pageTimings": {"onLoad": 1000}} | said


def har(*entries: dict[str, Any], **said: Any) -> dict[str, Any]:
    """Make a HAR document of entries."""
    return {"log": {"version": "1.2", "entries": list(entries)} | said}


def as_bytes(said: Any) -> bytes:
    """Return a HAR document as the bytes of a file."""
    return json.dumps(said).encode()
