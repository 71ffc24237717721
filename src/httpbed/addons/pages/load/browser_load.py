"""One load of a page by a browser, as values.

All times are seconds since the start of the navigation. A time that the browser did not report is
None; so is ``connect_start_s`` of a request over an existing connection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

_DRAFT = re.compile(r"(?:h3|quic|http/2\+quic)[-/+].*")
_NAMES = {
    "h1": "1.1",
    "http/1": "1.0",
    "http/1.0": "1.0",
    "http/1.1": "1.1",
    "h2": "2",
    "h2c": "2",
    "http/2": "2",
    "http/2.0": "2",
    "h3": "3",
    "http/3": "3",
    "http/3.0": "3",
    "quic": "3",
}


def version_of(name: str) -> str:
    """Return ``1.0``, ``1.1``, ``2`` or ``3``; another name unchanged; empty for ``unknown``.

    Known are the names of RFC 9110 to 9114, those of ALPN (drafts of HTTP/3 count as 3), and
    ``http/2.0``, which Chrome writes into HAR files.
    """
    word = name.strip().lower()
    if word in ("unknown", "undefined", "null", "none"):
        return ""
    return "3" if _DRAFT.fullmatch(word) else _NAMES.get(word, name.strip())


def name_of(version: str) -> str:
    """Return RFC 9110's name of a version, such as ``HTTP/2``; another text unchanged."""
    return f"HTTP/{version}" if version in _NAMES.values() else version


Ending = Literal[
    "loaded", "time limit", "crashed", "left", "refused", "browser ended", "download", "unknown"
]
"""How a load ended.

``left``: the page navigated away. ``refused``: the navigation failed, or the page's response was
an error. ``unknown``: a HAR file does not say, so it may be half a load."""
Headers = tuple[tuple[str, str], ...]
"""Names and values, in order."""


@dataclass(frozen=True)
class PageRequest:
    """One request of a page, with its response."""

    id: str
    """The browser's ID; the requests of a redirect chain have ``-1``, ``-2`` added."""
    url: str
    method: str = "GET"
    http_version: str = ""
    """``1.1``, ``2`` or ``3``, or the browser's word; empty if unknown."""
    status: int = 0
    """0 without a response."""
    failed: str = ""
    """The browser's reason for a failure; empty without one."""
    kind: str = ""
    """Resource type: ``Document``, ``Image``, ``Script``, ``Stylesheet``, ``Font``, ..."""
    mime_type: str = ""
    priority: str = ""
    render_blocking: str = ""
    """``Blocking``, ``InBodyParserBlocking``, ``NonBlocking``, ...; empty if the browser did not
    say."""
    initiator: str = ""
    """URL of the resource that caused the request; empty for the page itself or if unknown."""
    initiator_kind: str = ""
    """``parser``, ``script``, ``preload``, ``other``."""
    redirected_to: str = ""
    connection: str = ""
    """Equal for requests over the same connection."""
    remote: str = ""
    """Address and port of the server."""
    from_cache: bool = False
    request_headers: Headers = ()
    response_headers: Headers = ()
    wire_bytes: int = 0
    """Bytes of the response's header and body on the wire (CDP's ``encodedDataLength``)."""
    head_bytes: int = 0
    """Bytes of its header, which ``wire_bytes`` includes; 0 if the browser does not say."""
    is_left: bool = False
    """Whether the browser stopped reading an image because it cannot decode it; ``wire_bytes`` then
    has what the browser saw of it."""
    body_bytes: int = 0
    """Bytes of the decoded body."""
    parts: tuple[tuple[float, int], ...] = ()
    """When parts of its body arrived, and their bytes on the wire; empty if the browser did not
    say."""
    queued_s: float | None = None
    """When the page requested it."""
    started_s: float | None = None
    """When the browser began to fetch it (CDP's ``requestTime``)."""
    dns_start_s: float | None = None
    dns_end_s: float | None = None
    connect_start_s: float | None = None
    """When a connection was opened for it."""
    connect_end_s: float | None = None
    tls_start_s: float | None = None
    tls_end_s: float | None = None
    send_start_s: float | None = None
    send_end_s: float | None = None
    headers_start_s: float | None = None
    """When the first byte of the response arrived."""
    headers_end_s: float | None = None
    ended_s: float | None = None
    """When its last byte arrived, or it failed."""

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
        """Return whether it used the network: no cache, no ``data:`` URL."""
        return not self.from_cache and self.url.startswith(("http://", "https://"))


@dataclass(frozen=True)
class Frame:
    """A picture of the screen, valid from ``at_s`` until the next one."""

    at_s: float
    file: Path


@dataclass(frozen=True)
class SeenScreen:
    """What a script saw of the screen after a load."""

    inner: tuple[int, int]
    """Size of the window's content in CSS pixels; on a touch screen the page chooses it."""
    screen: tuple[int, int]
    pixel_ratio: float
    user_agent: str


@dataclass(frozen=True)
class BrowserLoad:
    """One load of a page."""

    url: str
    ended: Ending
    reason: str = ""
    """Explanation of the ending; empty if the page loaded."""
    product: str = ""
    """Name and version of the browser."""
    visit: str = "cold"
    requests: tuple[PageRequest, ...] = ()
    """In the order in which the page requested them, its document first."""
    before: tuple[PageRequest, ...] = ()
    """Requests of the visit before the measured one; their times are negative."""
    frames: tuple[Frame, ...] = ()
    """In order of time."""
    content_loaded_s: float | None = None
    """When the document was parsed (DOMContentLoaded)."""
    onload_s: float | None = None
    """When the load event fired."""
    first_contentful_paint_s: float | None = None
    largest_contentful_paint_s: float | None = None
    largest_image_s: tuple[float, float] | None = None
    """When the image of the largest contentful paint began and ended loading; None for a text."""
    browser_starts: float | None = None
    """How many browsers were started until one answered."""
    browser_ready_s: float | None = None
    """From the browser's start to the command to navigate, without a visit before."""
    browser_cpu_s: float | None = None
    """CPU seconds of all its processes, with its start and without a visit before."""
    navigated_s: float | None = None
    """From the client's start to the command to navigate."""
    dialogs: Sequence[tuple[str, str]] = ()
    """Kind and message of each dialog that the page opened."""
    navigation_ns: int | None = None
    """CLOCK_MONOTONIC at the start of the navigation."""
    navigated_at: float | None = None
    """Seconds since 1970 at the start of the navigation, by the browser's clock."""
    title: str = ""
    seen: SeenScreen | None = None
    """None if the browser did not say."""
    pictures_end_s: float | None = None
    """Time after which the screen is unknown; None if the pictures cover the whole load."""
    notes: tuple[str, ...] = ()
    """What could not be read or was cut off: requests may be missing."""
    remarks: tuple[str, ...] = ()
    """What else is missing that no request depends on."""

    def on_network(self) -> tuple[PageRequest, ...]:
        """Return the requests that went over the network."""
        return tuple(request for request in self.requests if request.is_on_network)
