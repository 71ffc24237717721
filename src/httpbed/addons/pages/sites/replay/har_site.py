"""Makes a site from a HAR file: each origin under its own name, each response as recorded.

The page's own document causes all requests if four conditions hold. The file has every body that
leads to requests, each can have exactly its recorded length, every URL in them leads to a replayed
origin, and everything that they request is replayed. Otherwise a skeleton replaces the document,
and requests everything in the recorded order.
"""

from __future__ import annotations

import hashlib
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import get_args
from urllib.parse import urljoin, urlsplit

from httpbed.addons.pages.har import har_file
from httpbed.addons.pages.page import Order, RecordedPage
from httpbed.addons.pages.sites.replay import bodies, headers, order, selection
from httpbed.addons.pages.sites.replay.bodies import Body, Size
from httpbed.addons.pages.sites.replay.headers import Fields
from httpbed.addons.pages.sites.replay.order import PLAN_PATH, Trigger
from httpbed.addons.pages.sites.replay.selection import SelectedRequest, Selection
from httpbed.addons.pages.sites.replay.server_times import ServerTimes, server_times
from httpbed.addons.pages.sites.site import (
    FILES,
    ICON_PATH,
    MAX_BYTES,
    Outline,
    RecordedAnswer,
    Resource,
    Say,
    Site,
)
from httpbed.base.errors import ConfigError, Mistake
from httpbed.base.units import format_count

VERSION = "4"
"""Of how a site is made: another version makes another site of the same file."""
MAX_NAMED = 5
"""Origins that a sentence names."""
RECORD = "name a HAR file, such as one that httpbed pages mirror made"
ORDERS: dict[str, Order] = {argument: argument for argument in get_args(Order)}
ANSWERS_FILE = "answers.json"
"""File beside the origins' folders, for ``pages/programs/builtin/replay_origin``."""


@dataclass(frozen=True)
class ReplayedResponse:
    """What is sent for one recorded request."""

    request: SelectedRequest
    body: Body
    fields: Fields
    delay_s: float
    trigger: Trigger
    kind: str


@dataclass(frozen=True)
class ReplayedHar:
    """The replayed part of a HAR file."""

    name: str
    selected: Selection
    sha256: str
    order: Order | None = None
    """Order of the requests that the experiment wants, or else the file."""

    @cached_property
    def sizes(self) -> list[Size]:
        """Length of each body."""
        return [bodies.body_size(request.entry) for request in self.selected.requests]

    @cached_property
    def triggers(self) -> list[Trigger]:
        """What caused each request."""
        return order.triggers(self.selected)

    @cached_property
    def server_times(self) -> ServerTimes:
        """The delay of each response."""
        return server_times(self.selected.requests, self.sizes)

    @cached_property
    def hosts(self) -> list[str]:
        """Every host name, the document's first."""
        return list(dict.fromkeys(request.host for request in self.selected.requests))


def outline(page: RecordedPage, folder: Path) -> Outline:
    """Return what is known of a replayed site."""
    read = _read(page, folder)
    return Outline(
        name=_short(read.name),
        version=f"{VERSION}-{read.sha256}",
        requests=len(read.selected.requests),
        weight=sum(size.bytes for size in read.sizes),
        entry=read.selected.requests[0].path,
        origins=tuple(read.hosts),
        icon=any(request.path == ICON_PATH for request in read.selected.requests),
    )


def make(page: RecordedPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Write the bodies and the response table, and return the site's list."""
    del seed, say  # nothing is random, and each report has the site's source
    read = _read(page, folder)
    changes = [*read.selected.changes]
    changes += [f"{count} dropped: {why}" for why, count in read.selected.left_out.items()]
    sent, is_own = _responses(read, changes)
    resources = [_stored(one, number, read.hosts, into / FILES) for number, one in enumerate(sent)]
    _write_answers(resources, read.hosts, is_own, into / FILES)
    return Site(
        name=_short(read.name),
        source="; ".join([f"{read.name}, {read.sha256[:12]}", *changes])[:10_000],
        entry=read.selected.requests[0].path,
        origins=read.hosts,
        recorded=True,
        skeleton=not is_own,
        resources=resources,
    )


def _read(page: RecordedPage, folder: Path) -> ReplayedHar:
    """Read a HAR file, and select what is replayed.

    Raises:
        ConfigError: With every mistake, at the table's ``har``.
    """
    try:
        return _selected(folder / page.har, page)
    except OSError as error:
        remedy = "a HAR file's name is relative to the experiment's folder"
        raise ConfigError([Mistake("har", f"{page.har}: {error.strerror}", remedy)]) from None
    except ConfigError as error:
        within = [
            Mistake("har", f"{mistake.place}: {mistake.reason}", mistake.remedy)
            for mistake in error.mistakes
        ]
        raise ConfigError(within) from None


def _selected(file: Path, page: RecordedPage) -> ReplayedHar:
    if file.exists() and not file.is_file():  # opening a pipe may wait forever
        raise ConfigError([Mistake(file.name, "is not a file", RECORD)])
    with file.open("rb") as handle:
        content = handle.read(har_file.MAX_BYTES + 1)
    document = har_file.read(content, file.name)
    wanted = page.order or ORDERS.get(document.order)
    selected = selection.choose(document, file.name)
    if all(request.entry.timings.wait is None for request in selected.requests):
        reason = "no entry has a wait, so nothing says how long the servers took"
        raise ConfigError([Mistake(f"{file.name}: log.entries", reason, "export it with timings")])
    cut = [request for request in selected.requests if _is_cut(request)]
    if cut and wanted == "its own":
        mistakes = [_of_cut(request, file.name) for request in cut]
        raise ConfigError(har_file.first_mistakes(mistakes, file.name))
    selected = _without_cut(selected, cut)
    read = ReplayedHar(file.name, selected, hashlib.sha256(content).hexdigest(), wanted)
    if sum(size.bytes for size in read.sizes) > MAX_BYTES:
        reason = f"has bodies of more than {MAX_BYTES} bytes in all"
        raise ConfigError([Mistake(file.name, reason, "leave some out")])
    if wanted == "its own" and (obstacle := _obstacle(read)):
        raise ConfigError([Mistake(file.name, obstacle, "leave the order out")])
    return read


def _is_cut(one: SelectedRequest) -> bool:
    """Return whether the file has the beginning of a body only.

    A text is stored as UTF-8, which only UTF-16 exceeds, and without the mark of its byte order.
    """
    entry = one.entry
    if entry.body is None or entry.stated_body_bytes is None or "utf-16" in _kind(one):
        return False
    return len(entry.body) < entry.stated_body_bytes - len(BOM_UTF8)


def _of_cut(one: SelectedRequest, name: str) -> Mistake:
    entry = one.entry
    reason = f"has {len(entry.body or b'')} of {entry.body_bytes} bytes"
    place = f"{name}: log.entries[{entry.index}].response.content.text"
    return Mistake(place, reason, "export the file with whole bodies, or leave the order out")


def _without_cut(selected: Selection, cut: Sequence[SelectedRequest]) -> Selection:
    """Count a body that was cut as missing: half a script would do something else."""
    if not cut:
        return selected
    requests = tuple(
        replace(request, entry=replace(request.entry, body=None)) if request in cut else request
        for request in selected.requests
    )
    first = _of_cut(cut[0], "the file")
    cuts = "1 body is cut and" if len(cut) == 1 else f"{len(cut)} bodies are cut and"
    change = f"{cuts} left out: {first.place} {first.reason}"
    return replace(selected, requests=requests, changes=(*selected.changes, change))


def _obstacle(read: ReplayedHar) -> str:
    """Return why the page cannot cause all requests itself, before any body is encoded."""
    for one, size in zip(read.selected.requests, read.sizes, strict=True):
        url = urlsplit(one.entry.url)
        is_elsewhere = (
            url.scheme.lower() != "https" or url.hostname != one.host or url.port not in (None, 443)
        )
        if is_elsewhere and _is_named(read, url.netloc):
            return f"{url.scheme}://{url.netloc} is not the address of its replay"
        is_missing = one.entry.body is None and size.bytes > 0
        # An image requests nothing, not even an SVG file.
        is_page_part = not one.is_redirect and one.entry.kind.lower() != "image"
        if is_missing and is_page_part and bodies.leads_further(_kind(one)):
            return f"the body of {one.path} may cause requests, but is not in the file"
    return next(iter(read.selected.unanswered), "")


def _is_named(read: ReplayedHar, address: str) -> bool:
    """Return whether a body names an origin; where none does, all references are relative."""
    named = address.encode()
    return any(named in (request.entry.body or b"") for request in read.selected.requests)


def _short(name: str) -> str:
    """Return a folder name for a site, from its file's name."""
    stem = "".join(one if one.isalnum() and one.isascii() else "-" for one in Path(name).stem)
    return f"har-{stem.strip('-').lower()[:60]}"


def _kind(one: SelectedRequest) -> str:
    content_type = one.entry.mime_type or bodies.header(one.entry, "content-type")
    return content_type.lower() if content_type != "x-unknown" else ""


def _responses(read: ReplayedHar, changes: list[str]) -> tuple[list[ReplayedResponse], bool]:
    """Return what is sent for each request, and whether the page causes all requests itself.

    Deviations from the HAR file are added to ``changes``.
    """
    selected = read.selected
    encoded = [
        _encoded(one, size.bytes) for one, size in zip(selected.requests, read.sizes, strict=True)
    ]
    obstacle = _obstacle(read) if read.order != "recorded" else "that order is wanted"
    is_own = not obstacle and all(map(_is_own, selected.requests, encoded))
    if not is_own:
        changes.append(f"a skeleton requests all in recorded order: {obstacle or 'lengths'}")
    sent = [_one(read, number, body, of_skeleton=not is_own) for number, body in enumerate(encoded)]
    if not is_own:
        sent = _with_skeleton(read, sent, changes)
    changes += _deviations(read, sent)
    return sent, is_own


def _encoded(one: SelectedRequest, length: int) -> Body:
    """Encode the recorded body to the recorded length, or return a filler."""
    coding = bodies.header(one.entry, "content-encoding")
    if one.entry.body is not None and length:
        exact = bodies.exact(one.entry.body, _kind(one), coding, length)
        if exact is not None:
            return exact
    return bodies.filler(_kind(one), length)


def _is_own(one: SelectedRequest, body: Body) -> bool:
    """Return whether a body causes the requests that the recorded one did."""
    return not (body.is_filler and body.length and bodies.leads_further(_kind(one)))


def _one(read: ReplayedHar, number: int, body: Body, *, of_skeleton: bool) -> ReplayedResponse:
    one = read.selected.requests[number]
    location = _location(read.selected, number) if one.is_redirect else None
    fields = headers.answered(one.entry, location=location, of_skeleton=of_skeleton)
    if one.entry.method.upper() != "HEAD" and body.length:
        fields = headers.with_field(fields, "content-encoding", body.coding or None)
    delay_s = read.server_times.delays_s[number]
    return ReplayedResponse(one, body, fields, delay_s, read.triggers[number], _kind(one))


def _location(selected: Selection, number: int) -> str:
    """Return a redirect's target: as recorded, if that leads to the replayed place."""
    one = selected.requests[number]
    target = next(other for other in selected.requests if other.follows == number)
    written = bodies.header(one.entry, "location")
    absolute = f"https://{target.host}{target.path}"
    return written if urljoin(f"https://{one.host}{one.path}", written) == absolute else absolute


def _with_skeleton(
    read: ReplayedHar, sent: list[ReplayedResponse], changes: list[str]
) -> list[ReplayedResponse]:
    """Replace the document by a skeleton, with its script in a second file if it is too long."""
    number = read.selected.document
    document = sent[number]
    length = document.body.length
    text = order.script(read.selected, read.triggers)
    inside, outside = order.inline(text), order.outside()
    body = bodies.padded(inside, length) or bodies.exact(inside, "", "br", length)
    if body is None:
        body = bodies.padded(outside, length) or Body(outside, len(outside))
        sent = [*sent, _script(read, text)]
        changes.append(f"the document is too small for a skeleton: one more request, {PLAN_PATH}")
        if body.length > length:
            changes.append(f"the document has {body.length} bytes instead of {length}")
    fields = headers.with_field(document.fields, "content-encoding", body.coding or None)
    if "html" not in document.kind or "utf-16" in document.kind:
        fields = headers.with_field(fields, "content-type", "text/html")
    sent[number] = replace(document, body=body, fields=fields, kind="text/html")
    return sent


def _script(read: ReplayedHar, text: str) -> ReplayedResponse:
    data = text.encode()
    document = read.selected.requests[read.selected.document]
    entry = replace(document.entry, method="GET", status=200)
    request = SelectedRequest(entry, document.host, PLAN_PATH)
    trigger = Trigger(read.selected.document, "head", 0.0)
    fields = [("content-type", "text/javascript")]
    return ReplayedResponse(request, Body(data, len(data)), fields, 0.0, trigger, "text/javascript")


def _deviations(read: ReplayedHar, sent: Sequence[ReplayedResponse]) -> Iterator[str]:
    """Yield the deviations of all responses from the HAR file, and what is unknown."""
    filled = sum(response.body.is_filler and response.body.length > 0 for response in sent)
    if filled:
        yield f"bodies missing in the file, replaced by zeros: {filled}"
    if unsure := sum(not size.is_exact for size in read.sizes):
        yield f"lengths on the wire unknown, so approximated: {unsure}"
    recoded = sum(
        bool(response.body.coding)
        and response.body.coding != bodies.header(response.request.entry, "content-encoding")
        for response in sent
    )
    if recoded:
        yield f"bodies in another coding, to reach their lengths: {recoded}"
    renamed = [host for host in read.hosts if host.endswith(f".{selection.RENAMED}")]
    if renamed:
        yield f"{format_count(len(renamed), 'origin')} renamed: {_named(renamed)}"
    times = read.server_times
    if times.capped:
        yield (
            "waits that may be queueing behind other responses, so each counts as the shortest of"
            f" its origin, or as none where no wait is longer than queueing: {times.capped}"
        )
    if times.unknown:
        yield f"responses without a wait in the file, so not delayed: {times.unknown}"
    if times.unconnected:
        yield (
            f"{format_count(len(times.unconnected), 'origin')} without a connect time, so the"
            f" shortest wait counts as its round trip: {_named(times.unconnected)}"
        )


def _named(hosts: Sequence[str]) -> str:
    """Return the first names; an ellipsis shows that there are more."""
    return ", ".join(hosts[:MAX_NAMED]) + (", ..." if len(hosts) > MAX_NAMED else "")


def _stored(sent: ReplayedResponse, number: int, hosts: Sequence[str], files: Path) -> Resource:
    """Write a body, and return its resource."""
    origin = hosts.index(sent.request.host)
    name = f"{origin}/{number}"
    (files / str(origin)).mkdir(parents=True, exist_ok=True)
    answer = RecordedAnswer(
        method=sent.request.entry.method.upper(),
        status=sent.request.entry.status,
        headers=sent.fields,
        delay_s=sent.delay_s,
        after=sent.trigger.after,
        since=sent.trigger.since,
        wait_s=sent.trigger.wait_s,
    )
    return Resource(
        origin=origin,
        path=sent.request.path,
        file=name,
        bytes=sent.body.length,
        sha256=_written(sent.body, files / name),
        type=sent.kind or "application/octet-stream",
        answer=answer,
    )


def _written(body: Body, file: Path) -> str:
    """Write a body, whose zeros take no space on disk; return its digest."""
    with file.open("wb+") as handle:
        handle.write(body.start)
        handle.truncate(body.length)
        handle.seek(0)
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _write_answers(
    resources: Sequence[Resource], hosts: Sequence[str], is_own: bool, files: Path
) -> None:
    answers = [
        {
            "host": hosts[resource.origin],
            "path": resource.path,
            "file": resource.file,
            **resource.answer.model_dump(include={"method", "status", "headers", "delay_s"}),
        }
        for resource in resources
        if resource.answer
    ]
    table = {"schema": 1, "hosts": list(hosts), "skeleton": not is_own, "answers": answers}
    (files / ANSWERS_FILE).write_text(json.dumps(table) + "\n", "utf-8")
