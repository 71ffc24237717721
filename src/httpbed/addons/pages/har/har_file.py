"""A HAR file as values: read with all its mistakes, its entries, and the page loads that they are.

A file is either rejected with all its mistakes or read completely. The values are checked but not
trusted. Every field has its type, every time is a plausible duration, and every ``http:`` or
``https:`` URL names a host. Nothing else holds: a URL may lead anywhere, a header or title may
contain script or terminal commands, and times need not add up.

Chrome and Firefox write a page for each navigation, WebPageTest one for each view. Other tools
write none: then all entries are one load, which begins with the first of them. The phases of an
entry follow each other from its start: blocked, dns, connect with ssl as its last part, send, wait,
receive.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from httpbed.addons.pages.har.schema import (
    ArchiveForm,
    EntryForm,
    HarPage,
    HeaderForm,
    LogForm,
    TimingsForm,
)
from httpbed.addons.pages.load.browser_load import (
    BrowserLoad,
    Ending,
    Headers,
    PageRequest,
    version_of,
)
from httpbed.base import untrusted_files, user_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.untrusted_files import UnreadableError
from httpbed.base.user_file import NotAFileError

MAX_BYTES = 128 * 2**20
"""Upper bound of a HAR file; bodies of 95 MB fit as base64."""
MAX_ENTRIES = 20_000
MAX_MISTAKES = 40
"""Mistakes that are listed for a file; a last one counts the rest."""
ERROR = 400
"""Status from which on an answer is an error (RFC 9110, 15)."""
NO_ONLOAD = (
    "the file has no load event, so the load may be incomplete: it has no metric of the page"
)
ROUNDED_S = 0.002
"""Tolerance in seconds of a sum of phases in whole milliseconds."""
_SAME_S = 1e-5
_REASONS = {
    "missing": "is missing",
    "model_type": "must be an object",
    "mapping_type": "must be an object",
    "tuple_type": "must be a list",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
}


@dataclass(frozen=True, kw_only=True)
class HarEntry(PageRequest):
    """A request of a HAR file, with what the file alone says of it.

    Times since the navigation, such as ``queued_s``, are those of :func:`loads`: before, they are
    None.
    """

    index: int
    page: str
    """ID of its page; empty if it belongs to none."""
    requested_at: float
    """When the page requested it: seconds since 1970."""
    time_s: float | None
    """Duration by the tool; its timings need not add up to it."""
    timings: TimingsForm
    """Its phases, in seconds; None if absent or unknown."""
    posted: str | None
    body: bytes | None
    """Base64 decoded, not compressed; None if the tool did not store it."""
    stated_body_bytes: int | None
    """Length of the uncompressed body; None if unknown, where ``body_bytes`` is 0."""
    stated_wire_bytes: int | None
    """Length of head and body on the wire; None if unknown, where ``wire_bytes`` is 0."""
    sent_body_bytes: int | None
    """Length of the body on the wire; None if unknown."""

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
    speed_index_s: float | None
    """The tool's Speed Index: a HAR file has no pictures to compute it from."""


def read_file(file: Path) -> HarDocument:
    """Read a HAR file of at most :data:`MAX_BYTES` bytes.

    Raises:
        ConfigError: With every mistake and its place.
        OSError: The file is missing or unreadable.
    """
    try:
        content = user_file.read(file, MAX_BYTES)
    except NotAFileError as error:
        raise _refusal(str(file), str(error), "name a HAR file") from None
    return read(content, str(file))


def read(data: bytes, name: str = "HAR") -> HarDocument:
    """Read the bytes of a HAR file; ``name`` stands in mistakes.

    Raises:
        ConfigError: With every mistake and its place.
    """
    archive = _parsed(data, name)
    if not isinstance(archive, Mapping) or not isinstance(archive.get("log"), Mapping):
        raise _refusal(name, "is not a HAR file: it has no object named log")
    _refuse_many(archive["log"], name)
    try:
        log = ArchiveForm.model_validate(archive).log
    except ValidationError as error:
        raise ConfigError(_mistakes(error, name)) from None
    bodies = [_body(form, index, name) for index, form in enumerate(log.entries)]
    if wrong := [body for body in bodies if isinstance(body, Mistake)]:
        raise ConfigError(first_mistakes(wrong, name))
    read_bodies = [body for body in bodies if not isinstance(body, Mistake)]
    return _document(log, read_bodies)


def _parsed(data: bytes, name: str) -> Any:
    if len(data) > MAX_BYTES:
        reason = f"is longer than {MAX_BYTES // 2**20} MiB"
        raise _refusal(name, reason, "export it without bodies")
    try:
        return untrusted_files.json_value(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _refusal(name, f"is not a HAR file: byte {error.start} is not UTF-8") from None
    except UnreadableError as error:
        raise _refusal(name, f"is not a HAR file: it {error.reason}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        is_cut = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        reason = f"is truncated at {place}" if is_cut else f"is not JSON at {place}: {error.msg}"
        raise _refusal(name, reason, "export it again" if is_cut else "") from None
    except ValueError as error:  # an integer with too many digits
        raise _refusal(name, f"is not a HAR file: {error}") from None


def _refusal(name: str, reason: str, remedy: str = "") -> ConfigError:
    return ConfigError([Mistake(name, reason, remedy)])


def _refuse_many(log: Mapping[str, Any], name: str) -> None:
    entries = log.get("entries")
    if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
        reason = f"has {len(entries)} entries, more than {MAX_ENTRIES}"
        raise _refusal(name, reason, "export one page at a time")


def _mistakes(error: ValidationError, name: str) -> list[Mistake]:
    mistakes = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]]
        place = "".join(parts).lstrip(".")
        reason = _REASONS.get(detail["type"], detail["msg"].removeprefix("Value error, "))
        mistakes.append(Mistake(f"{name}: {place}", reason))
    return first_mistakes(mistakes, name)


def first_mistakes(mistakes: list[Mistake], name: str) -> list[Mistake]:
    """Return the first mistakes of a HAR file, and one that counts the rest."""
    more = len(mistakes) - MAX_MISTAKES
    rest = [Mistake(name, f"has {more} more mistakes")] if more > 0 else []
    return mistakes[:MAX_MISTAKES] + rest


def _body(form: EntryForm, index: int, name: str) -> bytes | Mistake | None:
    content = form.response.content
    if content.text is None or (not content.text and content.size):
        return None
    if content.encoding.lower() != "base64":
        return content.text.encode()
    try:
        return base64.b64decode(content.text)
    except (binascii.Error, ValueError) as error:
        place = f"{name}: log.entries[{index}].response.content.text"
        return Mistake(place, f"is not base64: {error}")


def _document(log: LogForm, bodies: Iterable[bytes | None]) -> HarDocument:
    is_firefox = "firefox" in f"{log.creator.name} {log.browser.name}".lower()
    return HarDocument(
        creator=f"{log.creator.name} {log.creator.version}".strip(),
        browser=f"{log.browser.name} {log.browser.version}".strip(),
        pages=log.pages,
        entries=tuple(
            _entry(index, form, body, is_firefox=is_firefox)
            for index, (form, body) in enumerate(zip(log.entries, bodies, strict=True))
        ),
        order=log.order,
    )


def _entry(index: int, form: EntryForm, body: bytes | None, *, is_firefox: bool) -> HarEntry:
    response, body_bytes = form.response, form.response.content.size
    if body_bytes is None and body is not None:
        body_bytes = len(body)
    wire_bytes, from_cache = _wire_bytes(form), _is_from_cache(form)
    initiator, initiator_kind = _initiator(form.initiator)
    before_s = form.timings.queued_before or 0.0
    return HarEntry(
        id=str(index),
        index=index,
        page=form.page,
        requested_at=form.started - before_s,
        time_s=form.time + before_s if form.time is not None else None,
        timings=_with_queue(_with_tls(form, is_firefox=is_firefox), before_s),
        url=form.request.url,
        method=form.request.method,
        http_version=_http_version(form),
        status=response.status,
        failed=response.error or ("" if response.status or from_cache else "no response"),
        kind=form.kind.capitalize() if form.kind.islower() else form.kind,
        mime_type=response.content.mime_type,
        priority=form.priority,
        initiator=initiator,
        initiator_kind=form.initiator_kind or initiator_kind,
        redirected_to=response.redirect_url,
        # Firefox writes the server's port, which is the same for all connections.
        connection=_connection(form) if not is_firefox else "",
        remote=form.server_address,
        from_cache=from_cache,
        request_headers=_fields(form.request.headers),
        response_headers=_fields(response.headers),
        posted=form.request.post_data.text if form.request.post_data else None,
        body=body,
        stated_body_bytes=body_bytes,
        body_bytes=body_bytes or 0,
        stated_wire_bytes=wire_bytes,
        wire_bytes=wire_bytes or 0,
        sent_body_bytes=response.body_size,
        head_bytes=response.headers_size or 0,
    )


def _with_tls(form: EntryForm, *, is_firefox: bool) -> TimingsForm:
    """Return timings in which TLS is part of ``connect``, as in HAR 1.2.

    Some tools report TLS beside it. The entry's time shows which: less all other phases, it leaves
    the set-up. In Firefox (devtools, NetworkTimings.sys.mjs) the set-up lasts from the connection's
    start until the request is sent, so TLS that overlaps other set-up counts in part.
    """
    timings = form.timings
    if form.time is None or timings.ssl is None:
        return timings
    connect_s = timings.connect or 0.0
    others = (timings.blocked, timings.dns, timings.send, timings.wait, timings.receive)
    set_up_s = form.time - sum(other or 0.0 for other in others)
    both_s = connect_s + timings.ssl
    is_beside = connect_s + ROUNDED_S < set_up_s <= both_s + ROUNDED_S
    if not is_beside or (set_up_s < both_s - ROUNDED_S and not is_firefox):
        return timings
    return timings.model_copy(update={"connect": max(set_up_s, timings.ssl)})


def _with_queue(timings: TimingsForm, before_s: float) -> TimingsForm:
    """Return timings in which time in a queue before the entry's start is part of ``blocked``."""
    if not before_s:
        return timings
    blocked_s = (timings.blocked or 0.0) + before_s
    queued_s = (timings.queued or 0.0) + before_s
    return timings.model_copy(update={"blocked": blocked_s, "queued": queued_s})


def _fields(headers: Iterable[HeaderForm]) -> Headers:
    return tuple((header.name, header.value) for header in headers)


def _http_version(form: EntryForm) -> str:
    """Return the response's version rather than the request's: the server decides."""
    names = (form.protocol, form.response.http_version, form.request.http_version)
    return next((version for name in names if (version := version_of(name))), "")


def _is_from_cache(form: EntryForm) -> bool:
    if form.from_cache or form.response.from_disk_cache:
        return True
    # not modified: it was asked for
    return bool(form.cache.get("beforeRequest")) and form.response.status != 304


def _wire_bytes(form: EntryForm) -> int | None:
    response = form.response
    for size in (response.transfer_size, form.bytes_in):
        if size is not None:
            return size
    if response.body_size is None or response.headers_size is None:
        return None
    return response.body_size + response.headers_size


def _connection(form: EntryForm) -> str:
    """Return the connection; empty for Chrome's 0 and WebPageTest's -1, which mean none."""
    if form.connection_id:
        return form.connection_id if form.connection_id != "0" else ""
    connection = form.socket or form.connection
    return connection if connection != "-1" else ""


def _initiator(initiator: Any) -> tuple[str, str]:
    """Return URL and kind of the initiator; for a script, the URL on top of its stack."""
    if isinstance(initiator, str):
        return initiator, ""
    if not isinstance(initiator, Mapping):
        return "", ""
    kind = initiator.get("type")
    url = initiator.get("url") or _top_of(initiator.get("stack"))
    return url if isinstance(url, str) else "", kind if isinstance(kind, str) else ""


def _top_of(stack: Any) -> Any:
    while isinstance(stack, Mapping):
        frames = stack.get("callFrames")
        if isinstance(frames, list) and frames and isinstance(frames[0], Mapping):
            return frames[0].get("url")
        stack = stack.get("parent")
    return ""


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
            entries = sorted(mine + strays, key=lambda entry: entry.requested_at)
            archived.append(_load(document, page, entries, len(strays)))
    return archived


def _whole(document: HarDocument) -> HarPage:
    """Return a page for a file without pages."""
    started_s = min((entry.requested_at for entry in document.entries), default=0.0)
    return HarPage.model_construct(id="", started_s=started_s)


def _load(
    document: HarDocument, page: HarPage, entries: Sequence[HarEntry], strays: int
) -> ArchivedLoad:
    # If the page starts after its first entry, the tool stamped it late.
    began_s = min(page.started_s, entries[0].requested_at)
    ended, reason = _ending(entries, page)
    requests = tuple(_timed(entry, began_s) for entry in entries)
    load = BrowserLoad(
        url=entries[0].url,
        ended=ended,
        reason=reason,
        product=document.browser or document.creator,
        visit=page.visit,
        requests=requests,
        content_loaded_s=page.content_loaded_s,
        onload_s=page.onload_s,
        first_contentful_paint_s=page.first_contentful_paint_s,
        largest_contentful_paint_s=page.largest_contentful_paint_s,
        title=page.title,
        notes=_notes(document, strays),
    )
    return ArchivedLoad(page.id, load, requests, page.speed_index_s)


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


def _timed(entry: HarEntry, began_s: float) -> HarEntry:
    """Return an entry with its phases end to end, in seconds since the navigation."""
    times = entry.timings
    queued_s = round(entry.requested_at - began_s, 6)  # dates have microseconds
    blocked_end = queued_s + (times.blocked or 0.0)
    dns_end = blocked_end + (times.dns or 0.0)
    connect_end = dns_end + (times.connect or 0.0)
    send_end = connect_end + (times.send or 0.0)
    wait_end = send_end + (times.wait or 0.0)
    is_answered = times.wait is not None and not entry.failed
    is_sent = times.send is not None or is_answered
    return replace(
        entry,
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
