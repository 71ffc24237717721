"""A HAR file as values: its pages and entries, each checked, none trusted.

Every field has the kind that it is said to have, every time is a duration that can have been, and
every ``http:`` or ``https:`` URL names a host. Nothing else holds: a URL may lead anywhere, a
header or a title may hold script or a terminal's commands, and times need not add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from httpbed.web.har.schema import TimingsForm

Fields = tuple[tuple[str, str], ...]
"""Names and values, in order."""
Timings = TimingsForm
"""The phases of an entry, in seconds; None where one is not told, or there was none."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True)
class HarPage:
    """One load of a page."""

    id: str
    started_s: float
    """When it was navigated to: seconds since 1970."""
    title: str
    content_loaded_s: float | None
    """Since then, as all that follow."""
    onload_s: float | None
    speed_index_s: float | None
    first_contentful_paint_s: float | None
    largest_contentful_paint_s: float | None
    visit: str
    """In httpbed's words; empty where the tool did not tell."""


@dataclass(frozen=True)
class HarEntry:
    """One request and its response. Sizes and times are None where the tool did not tell them."""

    index: int
    """Its place in the file."""
    page: str
    """Identifier of its page; empty where it belongs to none."""
    started_s: float
    """When the page asked for it: seconds since 1970."""
    time_s: float | None
    """From then to its end, as the tool says; its timings need not add up to it."""
    timings: Timings
    method: str
    url: str
    request_headers: Fields
    posted: str | None
    """What the request sent."""
    status: int
    """0 where there was no response."""
    status_text: str
    http_version: str
    """``1.0``, ``1.1``, ``2`` or ``3``; else in the tool's words, empty where it told none."""
    response_headers: Fields
    redirected_to: str
    """URL or part of one, as the server wrote it."""
    mime_type: str
    body: bytes | None
    """Decoded from base 64, but not compressed again; None where the tool kept none."""
    body_bytes: int | None
    """Length of the body, no longer compressed."""
    sent_body_bytes: int | None
    """Length of the body as it was sent."""
    headers_bytes: int | None
    """Length of the response's head as it was sent."""
    wire_bytes: int | None
    """Of head and body together, as they were sent."""
    from_cache: bool
    failed: str
    """Why it failed, in the tool's words; empty where it did not."""
    kind: str
    """What it was for, in the tool's words: ``document``, ``Image``."""
    priority: str
    initiator: str
    """URL of what asked for it; empty where the tool told none."""
    initiator_kind: str
    connection: str
    """Equal for entries over the same connection; empty where the tool told none."""
    server_address: str

    @property
    def origin(self) -> Origin | None:
        """Where it was asked for; None of a URL that is neither ``http:`` nor ``https:``."""
        split = urlsplit(self.url) if self.is_http else None
        if split is None or split.hostname is None:
            return None
        return Origin(split.scheme, split.hostname, split.port or _DEFAULT_PORTS[split.scheme])

    @property
    def path(self) -> str:
        """Path and query of its URL, as they were asked for; empty where it has no origin."""
        if not self.is_http:
            return ""
        split = urlsplit(self.url)
        return (split.path or "/") + (f"?{split.query}" if split.query else "")

    @property
    def is_http(self) -> bool:
        """Whether its URL is ``http:`` or ``https:``: not script, not data, not a file."""
        return self.url.lower().startswith(("http:", "https:"))


@dataclass(frozen=True)
class HarDocument:
    """A HAR file."""

    version: str
    creator: str
    """Name and version of the tool that wrote it."""
    browser: str
    pages: tuple[HarPage, ...]
    entries: tuple[HarEntry, ...]
    """In the order of the file."""
