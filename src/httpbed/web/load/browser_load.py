"""One loading of a page by a browser, as values.

All times are in seconds since the start of the navigation. A browser does not tell every time of
every request: what it did not tell is None. ``connect_start_s`` is None, too, where a request went
over a connection that was there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

Ending = Literal[
    "loaded", "time limit", "crashed", "left", "refused", "browser ended", "download", "not told"
]
"""How a load ended. ``left``: the page went elsewhere; ``refused``: the navigation failed, or the
page's answer was an error; ``not told``: by a HAR, which may be of half a load."""
Headers = tuple[tuple[str, str], ...]
"""Names and values, in order."""


@dataclass(frozen=True)
class PageRequest:
    """One request of a page, with its response."""

    id: str
    """The browser's own; the requests of a chain of redirects have ``-1``, ``-2`` added."""
    url: str
    method: str = "GET"
    http_version: str = ""
    """``1.1``, ``2`` or ``3``, or in the browser's words; empty where it told none."""
    status: int = 0
    """0 where there was no response."""
    failed: str = ""
    """Why it failed, in the browser's words; empty where it did not."""
    kind: str = ""
    """What it was for: ``Document``, ``Image``, ``Script``, ``Stylesheet``, ``Font``, ..."""
    mime_type: str = ""
    priority: str = ""
    initiator: str = ""
    """URL of what asked for it; empty where the browser told none, and for the page itself."""
    initiator_kind: str = ""
    """``parser``, ``script``, ``preload``, ``other``."""
    redirected_to: str = ""
    """URL to which its response led."""
    connection: str = ""
    """Equal for requests over the same connection."""
    remote: str = ""
    """Address and port of who answered."""
    from_cache: bool = False
    request_headers: Headers = ()
    response_headers: Headers = ()
    wire_bytes: int = 0
    """Bytes of the response's header and body as they came (CDP's ``encodedDataLength``)."""
    body_bytes: int = 0
    """Bytes of the body as the page has it."""
    queued_s: float | None = None
    """When the page asked for it."""
    started_s: float | None = None
    """When the browser set out to fetch it (CDP's ``requestTime``)."""
    dns_start_s: float | None = None
    dns_end_s: float | None = None
    connect_start_s: float | None = None
    """When a connection was begun for it."""
    connect_end_s: float | None = None
    tls_start_s: float | None = None
    tls_end_s: float | None = None
    send_start_s: float | None = None
    send_end_s: float | None = None
    headers_start_s: float | None = None
    """When the first byte of the response came."""
    headers_end_s: float | None = None
    ended_s: float | None = None
    """When its last byte came, or it failed."""

    @property
    def host(self) -> str:
        """Return the host name of its URL, without a port; empty if the URL is invalid."""
        return self._parts[0]

    @property
    def authority(self) -> str:
        """Return host name and port of its URL; empty if the URL is invalid."""
        return self._parts[1]

    @property
    def path(self) -> str:
        """Return path and query of its URL; the whole URL if it is invalid."""
        return self._parts[2]

    @property
    def _parts(self) -> tuple[str, str, str]:
        try:
            parts = urlsplit(self.url)
            host = parts.hostname or ""
        except ValueError:
            return "", "", self.url
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return host, parts.netloc, path

    @property
    def is_on_network(self) -> bool:
        """Whether it went over the network: not from a cache, not a ``data:`` URL."""
        return not self.from_cache and self.url.startswith(("http://", "https://"))


@dataclass(frozen=True)
class Frame:
    """A picture of the page as it was seen from then on."""

    at_s: float
    file: Path


@dataclass(frozen=True)
class BrowserLoad:
    """One load of a page."""

    url: str
    ended: Ending
    reason: str = ""
    """In words; empty where it loaded."""
    product: str = ""
    """The browser and its version."""
    visit: str = "cold"
    requests: tuple[PageRequest, ...] = ()
    """In the order in which the page asked for them, its document first."""
    before: tuple[PageRequest, ...] = ()
    """Those of the visit before, which is not measured: their times are negative."""
    frames: tuple[Frame, ...] = ()
    """In order of time."""
    content_loaded_s: float | None = None
    """When the document was parsed (DOMContentLoaded)."""
    onload_s: float | None = None
    """When the load event was fired."""
    first_contentful_paint_s: float | None = None
    largest_contentful_paint_s: float | None = None
    browser_starts: float | None = None
    """How many browsers were started until one answered."""
    browser_ready_s: float | None = None
    """From the start of the browser until it was asked to navigate, without a visit before."""
    browser_cpu_s: float | None = None
    """CPU time of all its processes, its start included and a visit before not."""
    navigated_s: float | None = None
    """From the start of the client until the browser was asked to navigate."""
    dialogs: Sequence[tuple[str, str]] = ()
    """Kind and message of each dialog that the page opened."""
    navigation_ns: int | None = None
    """CLOCK_MONOTONIC at the start of the navigation."""
    navigated_at: float | None = None
    """Seconds since 1970 then, by the browser's own word."""
    title: str = ""
    pictures_end_s: float | None = None
    """From when on nobody knows what was seen; None where the pictures are those of all of it."""
    notes: tuple[str, ...] = ()
    """What could not be read, or was cut off: there may be requests that are not here."""
    remarks: tuple[str, ...] = ()
    """What is missing that no request depends on."""

    def on_network(self) -> tuple[PageRequest, ...]:
        """Return the requests that went over the network."""
        return tuple(request for request in self.requests if request.is_on_network)
