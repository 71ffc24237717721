"""A HAR file as values: its pages and entries, and the page loads that they are.

The values are checked but not trusted. Every field has its type, every time is a plausible
duration, and every ``http:`` or ``https:`` URL names a host. Nothing else holds: a URL may lead
anywhere, a header or title may contain script or terminal commands, and times need not add up.

Chrome and Firefox write a page for each navigation, WebPageTest one for each view. Other tools
write none: then all entries are one load, which begins with the first of them. The phases of an
entry follow each other from its start: blocked, dns, connect with ssl as its last part, send, wait,
receive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from httpbed.addons.pages.har.schema import HarPage, TimingsForm
from httpbed.addons.pages.load.browser_load import BrowserLoad, Ending, PageRequest

Fields = tuple[tuple[str, str], ...]
"""Names and values, in order."""
Timings = TimingsForm
"""The phases of an entry, in seconds; None if absent or unknown."""

ERROR = 400
"""Status from which on an answer is an error (RFC 9110, 15)."""
NO_ONLOAD = (
    "the file has no load event, so the load may be incomplete: it has no metric of the page"
)
_SAME_S = 1e-5
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int


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
    status: int
    """0 without a response."""
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
    def has_whole_setup(self) -> bool:
        """Return whether the connection's set-up, if it has one, is whole.

        Chrome may give a request a connection that was begun for another, and then reports only
        what followed the request: such a set-up begins with the request, and its DNS lookup takes
        0.
        """
        times = self.timings
        if times.queued is None:
            return times.dns != 0
        blocked_s = times.blocked or 0.0
        return blocked_s + (times.dns or 0.0) - min(times.queued, blocked_s) > _SAME_S

    @property
    def is_http(self) -> bool:
        """Return whether its URL is ``http:`` or ``https:``, rather than script, data or a file."""
        return self.url.lower().startswith(("http:", "https:"))


@dataclass(frozen=True)
class HarDocument:
    """A HAR file."""

    creator: str
    """Name and version of the tool that wrote it."""
    browser: str
    pages: tuple[HarPage, ...]
    entries: tuple[HarEntry, ...]
    """In the order of the file."""
    order: str = ""
    """What ``pages mirror`` found to request the page's resources
    (:attr:`~httpbed.addons.pages.page.RecordedPage.order`); empty in files of other tools."""


@dataclass(frozen=True)
class ArchivedLoad:
    """A load as a HAR file describes it."""

    page: str
    """ID of its page; empty in a file without pages."""
    load: BrowserLoad
    entries: tuple[HarEntry, ...]
    """The entries of the load's requests, in the same order."""
    speed_index_s: float | None
    """The tool's Speed Index: a HAR file has no pictures to compute it from."""


def loads(document: HarDocument) -> list[ArchivedLoad]:
    """Return every load with at least one request, in the order of the file's pages."""
    known: dict[str, HarPage] = {}
    for page in document.pages or (_whole(document),):
        known.setdefault(page.id, page)
    archived = []
    for index, page in enumerate(known.values()):
        mine = [entry for entry in document.entries if entry.page == page.id]
        strays = (
            [entry for entry in document.entries if entry.page not in known] if index == 0 else []
        )
        if mine or strays:
            entries = sorted(mine + strays, key=lambda entry: entry.started_s)
            archived.append(_load(document, page, entries, len(strays)))
    return archived


def _whole(document: HarDocument) -> HarPage:
    """Return a page for a file without pages."""
    started_s = min((entry.started_s for entry in document.entries), default=0.0)
    return HarPage.model_construct(id="", started_s=started_s)


def _load(
    document: HarDocument, page: HarPage, entries: Sequence[HarEntry], strays: int
) -> ArchivedLoad:
    # If the page starts after its first entry, the tool stamped it late.
    began_s = min(page.started_s, entries[0].started_s)
    ended, reason = _ending(entries, page)
    load = BrowserLoad(
        url=entries[0].url,
        ended=ended,
        reason=reason,
        product=document.browser or document.creator,
        visit=page.visit,
        requests=tuple(_request(entry, began_s) for entry in entries),
        content_loaded_s=page.content_loaded_s,
        onload_s=page.onload_s,
        first_contentful_paint_s=page.first_contentful_paint_s,
        largest_contentful_paint_s=page.largest_contentful_paint_s,
        title=page.title,
        notes=_notes(document, strays),
    )
    return ArchivedLoad(page.id, load, tuple(entries), page.speed_index_s)


def _ending(entries: Sequence[HarEntry], page: HarPage) -> tuple[Ending, str]:
    """Return how a load ended; an aborted load has no load event."""
    document = next((entry for entry in entries if not entry.redirected_to), entries[-1])
    if document.failed:
        return "refused", document.failed
    if document.status >= ERROR:
        return "refused", f"the page was answered with status {document.status}"
    if page.onload_s is None:
        return "unknown", NO_ONLOAD
    return "loaded", ""


def _notes(document: HarDocument, strays: int) -> tuple[str, ...]:
    if not strays or not document.pages:
        return ()
    return (f"{strays} entries belong to no page of the file; they count for the first page",)


def _request(entry: HarEntry, began_s: float) -> PageRequest:
    """Return a request with the entry's phases end to end."""
    times = entry.timings
    queued_s = round(entry.started_s - began_s, 6)  # dates have microseconds
    blocked_end = queued_s + (times.blocked or 0.0)
    dns_end = blocked_end + (times.dns or 0.0)
    connect_end = dns_end + (times.connect or 0.0)
    send_end = connect_end + (times.send or 0.0)
    wait_end = send_end + (times.wait or 0.0)
    is_answered = times.wait is not None and not entry.failed
    is_sent = times.send is not None or is_answered
    return replace(
        _untimed(entry),
        queued_s=queued_s,
        started_s=queued_s + min(times.queued or 0.0, times.blocked or 0.0),
        dns_start_s=blocked_end if times.dns is not None else None,
        dns_end_s=dns_end if times.dns is not None else None,
        connect_start_s=dns_end if times.connect is not None else None,
        connect_end_s=connect_end if times.connect is not None else None,
        tls_start_s=max(dns_end, connect_end - times.ssl) if times.ssl is not None else None,
        tls_end_s=connect_end if times.ssl is not None else None,
        send_start_s=connect_end if is_sent else None,
        send_end_s=send_end if is_sent else None,
        headers_end_s=wait_end if is_answered else None,
        ended_s=wait_end + (times.receive or 0.0),
    )


def _untimed(entry: HarEntry) -> PageRequest:
    return PageRequest(
        id=str(entry.index),
        url=entry.url,
        method=entry.method,
        http_version=entry.http_version,
        status=entry.status,
        failed=entry.failed,
        kind=entry.kind.capitalize() if entry.kind.islower() else entry.kind,
        mime_type=entry.mime_type,
        priority=entry.priority,
        initiator=entry.initiator,
        initiator_kind=entry.initiator_kind,
        redirected_to=entry.redirected_to,
        connection=entry.connection,
        remote=entry.server_address,
        from_cache=entry.from_cache,
        request_headers=entry.request_headers,
        response_headers=entry.response_headers,
        wire_bytes=entry.wire_bytes or 0,
        body_bytes=entry.body_bytes or 0,
    )
