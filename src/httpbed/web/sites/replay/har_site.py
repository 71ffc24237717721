"""A site rebuilt from a HAR file: each origin under its own name, each answer as it was recorded.

The page's own document asks for the rest by itself where the recording has all bodies that lead to
requests, each can be sent in exactly its recorded length, every URL in them leads to where the
recording is served, and all that it asked for is replayed. Elsewhere a skeleton takes the
document's place, and asks for everything in the recorded order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin, urlsplit

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import RecordedPage
from httpbed.web.har import parser
from httpbed.web.sites.maker import ICON_PATH, Outline, Say
from httpbed.web.sites.replay import bodies, headers, order, selection, sizes, skeleton, urls
from httpbed.web.sites.replay.bodies import Body
from httpbed.web.sites.replay.headers import Fields
from httpbed.web.sites.replay.order import Trigger
from httpbed.web.sites.replay.selection import ReplayedRequest, Selection
from httpbed.web.sites.replay.sizes import Size
from httpbed.web.sites.replay.skeleton import PLAN_PATH
from httpbed.web.sites.site import FILES, MOST_BYTES, RecordedAnswer, Resource, Site

VERSION = "1"
ANSWERS_FILE = "answers.json"
"""Beside the origins' folders: what the program that answers reads."""


@dataclass(frozen=True)
class ReplayedResponse:
    """What is sent for one recorded request."""

    asked: ReplayedRequest
    body: Body
    fields: Fields
    delay_s: float
    trigger: Trigger
    kind: str


@dataclass(frozen=True)
class ReplayedHar:
    """A HAR file, as far as it is replayed."""

    name: str
    chosen: Selection
    sha256: str
    order: Literal["recorded", "its own"] | None = None
    """In which order it is asked for, as an experiment says it."""

    @cached_property
    def sizes(self) -> list[Size]:
        """Length of each body."""
        return [sizes.body_size(one.entry) for one in self.chosen.asked]

    @cached_property
    def triggers(self) -> list[Trigger]:
        """What led to each request."""
        return order.triggers(self.chosen)

    @cached_property
    def round_trips_s(self) -> Mapping[str, float]:
        """Of each host in the recording, where it tells."""
        return sizes.round_trips_s(self.chosen.asked)

    @cached_property
    def hosts(self) -> list[str]:
        """Every host name, the document's first."""
        return list(dict.fromkeys(one.host for one in self.chosen.asked))


def outline(page: RecordedPage, folder: Path) -> Outline:
    """Tell what is known of a recorded site."""
    read = _read(page, folder)
    return Outline(
        name=_short(read.name),
        version=f"{VERSION}-{read.sha256}",
        requests=len(read.chosen.asked),
        weight=sum(one.bytes for one in read.sizes),
        entry=read.chosen.asked[0].path,
        origins=tuple(read.hosts),
        icon=any(one.path == ICON_PATH for one in read.chosen.asked),
    )


def make(page: RecordedPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Write the bodies and what is answered, and return the list."""
    del seed  # nothing is drawn
    read = _read(page, folder)
    said = [*read.chosen.changes]
    said += [f"{count} left out: {why}" for why, count in read.chosen.left_out.items()]
    sent, is_own = _sent(read, said)
    resources = [_stored(one, number, read.hosts, into / FILES) for number, one in enumerate(sent)]
    _write_answers(resources, read.hosts, is_own, into / FILES)
    for sentence in said:
        say(f"{read.name}: {sentence}")
    return Site(
        name=_short(read.name),
        source="; ".join([f"{read.name}, {read.sha256[:12]}", *said])[:10_000],
        entry=read.chosen.asked[0].path,
        origins=read.hosts,
        recorded=True,
        skeleton=not is_own,
        resources=resources,
    )


def _read(page: RecordedPage, folder: Path) -> ReplayedHar:
    """Read a HAR file, and choose what of it is replayed.

    Raises:
        ConfigError: With every mistake, at the table's ``har``.
    """
    try:
        return _looked_at(folder / page.har, page)
    except OSError as error:
        remedy = "a HAR file's name is relative to the experiment's folder"
        raise ConfigError([Mistake("har", f"{page.har}: {error.strerror}", remedy)]) from None
    except ConfigError as error:
        within = [
            Mistake("har", f"{one.place}: {one.reason}", one.remedy) for one in error.mistakes
        ]
        raise ConfigError(within) from None


def _looked_at(file: Path, page: RecordedPage) -> ReplayedHar:
    if file.exists() and not file.is_file():  # whoever opens a pipe waits for ever
        raise ConfigError([Mistake(file.name, "is no file", "name a HAR file")])
    with file.open("rb") as handle:
        said = handle.read(parser.MOST_BYTES + 1)
    chosen = selection.choose(parser.read(said, file.name), file.name)
    read = ReplayedHar(file.name, chosen, hashlib.sha256(said).hexdigest(), page.order)
    if sum(one.bytes for one in read.sizes) > MOST_BYTES:
        reason = f"its bodies are longer than {MOST_BYTES} bytes together"
        raise ConfigError([Mistake(file.name, reason, "leave some out")])
    if page.order == "its own" and (hindrance := _hindrance(read)):
        raise ConfigError([Mistake(file.name, hindrance, "leave the order out")])
    return read


def _hindrance(read: ReplayedHar) -> str:
    """Say why the page cannot ask for everything itself, before any body is encoded."""
    for one, size in zip(read.chosen.asked, read.sizes, strict=True):
        url = urlsplit(one.entry.url)
        if url.scheme.lower() != "https" or url.hostname != one.host or url.port not in (None, 443):
            return f"{url.scheme}://{url.netloc} is not where it is replayed"
        is_missing = one.entry.body is None and size.bytes > 0
        if is_missing and not one.is_redirect and bodies.leads_further(_kind(one)):
            return f"the body of {one.path} may lead to requests, and is not in the recording"
    return next(iter(read.chosen.unanswered), "")


def _short(name: str) -> str:
    """Name a site after its file, with what a folder's name may have."""
    stem = "".join(one if one.isalnum() and one.isascii() else "-" for one in Path(name).stem)
    return f"har-{stem.strip('-').lower()[:60]}"


def _kind(one: ReplayedRequest) -> str:
    said = one.entry.mime_type or sizes.header(one.entry, "content-type")
    return said.lower() if said != "x-unknown" else ""


def _sent(read: ReplayedHar, said: list[str]) -> tuple[list[ReplayedResponse], bool]:
    """Decide what is sent for each request, and whether the page asks for all of it itself.

    What is otherwise than recorded is added to ``said``.
    """
    chosen = read.chosen
    encoded = [
        _encoded(one, size.bytes) for one, size in zip(chosen.asked, read.sizes, strict=True)
    ]
    hindrance = _hindrance(read) if read.order != "recorded" else "so the experiment wants it"
    is_own = not hindrance and all(map(_is_own, chosen.asked, encoded))
    if not is_own:
        said.append(f"a skeleton asks for all in the recorded order: {hindrance or 'lengths'}")
    sent = [_one(read, number, body, of_skeleton=not is_own) for number, body in enumerate(encoded)]
    if not is_own:
        sent = _with_skeleton(read, sent, said)
    said += _told(read, sent)
    return sent, is_own


def _encoded(one: ReplayedRequest, length: int) -> Body:
    """Encode the recorded body to the recorded length, or put something else of it there."""
    coding = sizes.header(one.entry, "content-encoding")
    if one.entry.body is not None and length:
        found = bodies.exact(one.entry.body, _kind(one), coding, length)
        if found is not None:
            return found
    return bodies.filler(_kind(one), length)


def _is_own(one: ReplayedRequest, body: Body) -> bool:
    """Whether a body leads to the requests that it led to, if it did."""
    return not (body.is_filler and body.length and bodies.leads_further(_kind(one)))


def _one(read: ReplayedHar, number: int, body: Body, *, of_skeleton: bool) -> ReplayedResponse:
    one = read.chosen.asked[number]
    location = _location(read.chosen, number) if one.is_redirect else None
    fields = headers.answered(one.entry, location=location, of_skeleton=of_skeleton)
    if one.entry.method.upper() != "HEAD" and body.length:
        fields = headers.with_field(fields, "content-encoding", body.coding or None)
    delay_s = sizes.delay_s(one.entry, read.round_trips_s.get(one.host, 0.0))
    return ReplayedResponse(one, body, fields, delay_s, read.triggers[number], _kind(one))


def _location(chosen: Selection, number: int) -> str:
    """Return where a redirect leads: as it was written, where that is where it is replayed."""
    one = chosen.asked[number]
    target = next(other for other in chosen.asked if other.follows == number)
    written = sizes.header(one.entry, "location")
    absolute = f"https://{target.host}{target.path}"
    return written if urljoin(f"https://{one.host}{one.path}", written) == absolute else absolute


def _with_skeleton(
    read: ReplayedHar, sent: list[ReplayedResponse], said: list[str]
) -> list[ReplayedResponse]:
    """Put a skeleton in the document's place, with its script beside it where it is too small."""
    number = read.chosen.document
    document = sent[number]
    length = document.body.length
    text = skeleton.script(read.chosen, read.triggers)
    inside, outside = skeleton.inline(text), skeleton.outside()
    body = bodies.padded(inside, length) or bodies.exact(inside, "", "br", length)
    if body is None:
        body = bodies.padded(outside, length) or Body(outside, len(outside))
        sent = [*sent, _script(read, text)]
        said.append(f"the document is too small for a skeleton: one more request, {PLAN_PATH}")
        if body.length > length:
            said.append(f"the document has {body.length} bytes instead of {length}")
    fields = headers.with_field(document.fields, "content-encoding", body.coding or None)
    if "html" not in document.kind or "utf-16" in document.kind:
        fields = headers.with_field(fields, "content-type", "text/html")
    sent[number] = replace(document, body=body, fields=fields, kind="text/html")
    return sent


def _script(read: ReplayedHar, text: str) -> ReplayedResponse:
    data = text.encode()
    document = read.chosen.asked[read.chosen.document]
    entry = replace(document.entry, method="GET", status=200)
    asked = ReplayedRequest(entry, document.host, PLAN_PATH)
    trigger = Trigger(read.chosen.document, "head", 0.0)
    fields = [("content-type", "text/javascript")]
    return ReplayedResponse(asked, Body(data, len(data)), fields, 0.0, trigger, "text/javascript")


def _told(read: ReplayedHar, sent: Sequence[ReplayedResponse]) -> Iterator[str]:
    """Say what of all answers is otherwise than recorded, or not known."""
    filled = sum(one.body.is_filler and one.body.length > 0 for one in sent)
    if filled:
        yield f"{filled} bodies are not in the recording: zeros of their lengths stand for them"
    if unsure := sum(not size.is_told for size in read.sizes):
        yield f"{unsure} lengths are not told as sent, and are about as long"
    recoded = sum(
        bool(one.body.coding)
        and one.body.coding != sizes.header(one.asked.entry, "content-encoding")
        for one in sent
    )
    if recoded:
        yield f"{recoded} bodies are encoded in another way to have their lengths"
    renamed = [host for host in read.hosts if host.endswith(f".{urls.RENAMED}")]
    if renamed:
        yield f"{len(renamed)} origins are no names of their own: {', '.join(renamed[:5])}"
    if any(one.host not in read.round_trips_s for one in read.chosen.asked):
        yield "some origins tell no connect time: all that was waited for them is delay"


def _stored(sent: ReplayedResponse, number: int, hosts: Sequence[str], files: Path) -> Resource:
    """Write a body, and list it."""
    origin = hosts.index(sent.asked.host)
    name = f"{origin}/{number}"
    (files / str(origin)).mkdir(parents=True, exist_ok=True)
    answer = RecordedAnswer(
        method=sent.asked.entry.method.upper(),
        status=sent.asked.entry.status,
        headers=sent.fields,
        delay_s=sent.delay_s,
        after=sent.trigger.after,
        since=sent.trigger.since,
        wait_s=sent.trigger.wait_s,
    )
    return Resource(
        origin=origin,
        path=sent.asked.path,
        file=name,
        bytes=sent.body.length,
        sha256=_written(sent.body, files / name),
        type=sent.kind or "application/octet-stream",
        answer=answer,
    )


def _written(body: Body, file: Path) -> str:
    """Write a body, of which the zeros take no room; return its digest."""
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
            "host": hosts[one.origin],
            "path": one.path,
            "file": one.file,
            **one.answer.model_dump(include={"method", "status", "headers", "delay_s"}),
        }
        for one in resources
        if one.answer
    ]
    said = {"schema": 1, "hosts": list(hosts), "skeleton": not is_own, "answers": answers}
    (files / ANSWERS_FILE).write_text(json.dumps(said) + "\n", "utf-8")
