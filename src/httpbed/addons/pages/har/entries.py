"""A HAR file as values: its pages and entries, checked but not trusted.

Every field has its type, every time is a plausible duration, and every ``http:`` or ``https:`` URL
names a host. Nothing else holds: a URL may lead anywhere, a header or title may contain script or
terminal commands, and times need not add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from httpbed.addons.pages.har.schema import TimingsForm

Fields = tuple[tuple[str, str], ...]
"""Names and values, in order."""
Timings = TimingsForm
"""The phases of an entry, in seconds; None if absent or unknown."""

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
    """Start of the navigation: seconds since 1970."""
    title: str
    content_loaded_s: float | None
    """Seconds since ``started_s``, as are all following times."""
    onload_s: float | None
    speed_index_s: float | None
    first_contentful_paint_s: float | None
    largest_contentful_paint_s: float | None
    visit: str
    """httpbed's word for the visit; empty if the tool does not say."""


@dataclass(frozen=True)
class HarEntry:
    """One request and its response; unknown sizes and times are None."""

    index: int
    """Index in the file."""
    page: str
    """ID of its page; empty if it belongs to none."""
    started_s: float
    """When the page requested it: seconds since 1970."""
    time_s: float | None
    """Duration by the tool; its timings need not add up to it."""
    timings: Timings
    method: str
    url: str
    request_headers: Fields
    posted: str | None
    """Body of the request."""
    status: int
    """0 without a response."""
    status_text: str
    http_version: str
    """``1.0``, ``1.1``, ``2`` or ``3``, or the tool's word; empty if unknown."""
    response_headers: Fields
    redirected_to: str
    """URL or part of one, as the server wrote it."""
    mime_type: str
    body: bytes | None
    """Base64 decoded, not compressed; None if the tool did not store it."""
    body_bytes: int | None
    """Length of the uncompressed body."""
    sent_body_bytes: int | None
    """Length of the body on the wire."""
    headers_bytes: int | None
    """Length of the response's head on the wire."""
    wire_bytes: int | None
    """Length of head and body on the wire."""
    from_cache: bool
    failed: str
    """The tool's reason for a failure; empty without one."""
    kind: str
    """The tool's resource type, such as ``document``, ``Image``."""
    priority: str
    initiator: str
    """URL of the resource that caused the request; empty if unknown."""
    initiator_kind: str
    connection: str
    """Equal for entries over the same connection; empty if unknown."""
    server_address: str

    @property
    def origin(self) -> Origin | None:
        """Return the origin of its URL; None if the URL is neither ``http:`` nor ``https:``."""
        split = urlsplit(self.url) if self.is_http else None
        if split is None or split.hostname is None:
            return None
        return Origin(split.scheme, split.hostname, split.port or _DEFAULT_PORTS[split.scheme])

    @property
    def path(self) -> str:
        """Return path and query of its URL; empty without an origin."""
        if not self.is_http:
            return ""
        split = urlsplit(self.url)
        return (split.path or "/") + (f"?{split.query}" if split.query else "")

    @property
    def is_http(self) -> bool:
        """Return whether its URL is ``http:`` or ``https:``, rather than script, data or a file."""
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
