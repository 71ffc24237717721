"""Reads the files of the browser driver as a :class:`~.browser_load.BrowserLoad`, and as a report.

A page or its servers may have written any of it, file names included. So files are bounded, links
are not followed, and malformed records are skipped and reported in ``notes``.

Times are on the browser's clock: seconds of CLOCK_MONOTONIC in events, microseconds in the trace.
As in the Performance API, the navigation starts at the document's ``navigationStart`` in the trace;
without a trace, when the document was requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from httpbed.addons.pages.load import lenient_json, timing
from httpbed.addons.pages.load.browser_load import (
    BrowserLoad,
    Ending,
    Frame,
    PageRequest,
    SeenScreen,
)
from httpbed.addons.pages.load.cdp_requests import RequestCollector
from httpbed.addons.pages.load.lenient_json import JsonObject
from httpbed.base import untrusted_files
from httpbed.programs.part import LoggedRequest, ProgramReport

DRIVER_OUTPUT = "driver-output.txt"
"""File with the driver's standard error, as recipes name it."""
NOT_MODIFIED = 304
MAX_NAMED = 3
"""Dialogs or failed requests that a complaint names; further ones are counted."""
_REASONS = {
    "time limit": "the page was still loading at the time limit",
    "crashed": "the page's process crashed",
    "left": "the page navigated away",
    "refused": "the page could not be loaded",
    "browser ended": "the browser ended by itself",
    "download": "the page started a download",
}
SCHEMA = 1
MAX_LOAD_BYTES = 2**22
MAX_FRAMES = 5000
MAX_DIALOGS = 100
MAX_NOTES = 10
"""Number of the driver's own notes."""
MAX_CALENDAR_S = 2**32
"""The year 2106; later times are ignored."""
MS, US, NS = 1e-3, 1e-6, 1e-9
_PICTURE = re.compile(r"frames/[0-9]{1,8}\.jpg")
_ENDINGS: dict[str, Ending] = {ending: ending for ending in get_args(Ending)}


class LoadError(ValueError):
    """A folder has no readable load."""


def read(folder: Path) -> BrowserLoad:
    """Read a load.

    Raises:
        LoadError: load.json is missing or unreadable.
    """
    driver = _driver(folder)
    notes = ["more events than are kept"] if driver.get("truncated") is True else []
    events = _events(folder / "cdp.jsonl", notes)
    marks = _marks(folder, events.loader, notes)
    began_s = (
        marks.began_s
        or events.requested_s
        or (lenient_json.number(driver, "navigated_ns") or 0.0) * NS
    )
    frames = _frames(folder, began_s, notes)
    pictures_end_s = _pictures_end_s(driver, frames)
    is_trace_cut = driver.get("trace_cut") is True
    return BrowserLoad(
        url=lenient_json.text(driver, "url"),
        ended=_ENDINGS[lenient_json.text(driver, "ended")],
        reason=lenient_json.text(driver, "reason"),
        product=lenient_json.text(driver, "product", 200),
        visit=lenient_json.text(driver, "visit", 40) or "cold",
        requests=events.requests.requests(began_s),
        before=_events(folder / "cdp-before.jsonl", notes).requests.requests(began_s),
        frames=frames,
        content_loaded_s=_since(began_s, events.at("Page.domContentEventFired", began_s)),
        onload_s=_since(began_s, events.at("Page.loadEventFired", began_s)),
        first_contentful_paint_s=_since(began_s, marks.first_paint_s or events.first_paint_s),
        largest_contentful_paint_s=(
            None if is_trace_cut else _since(began_s, marks.largest_paint_s)
        ),
        largest_image_s=None if is_trace_cut else marks.largest_image_s,
        browser_starts=lenient_json.number(driver, "starts"),
        browser_ready_s=_ready_s(driver),
        browser_cpu_s=_cpu_s(driver),
        navigated_s=_navigated_s(driver, "started_ns"),
        dialogs=_dialogs(driver),
        navigation_ns=round(began_s / NS) or None,
        navigated_at=events.calendar(began_s),
        title=lenient_json.text(driver, "title", 500),
        seen=_seen(driver),
        pictures_end_s=pictures_end_s,
        notes=tuple(notes),
        remarks=tuple(_remarks(driver, pictures_end_s, is_trace_cut=is_trace_cut)),
    )


def seen_screen(folder: Path) -> SeenScreen | None:
    """Read what a load saw of the screen; None if it did not say, or there is no load."""
    try:
        return _seen(_driver(folder))
    except LoadError:
        return None


def _seen(driver: JsonObject) -> SeenScreen | None:
    screen = lenient_json.part(driver, "screen")
    if not screen:
        return None
    return SeenScreen(
        inner=_pair(screen, "inner"),
        screen=_pair(screen, "screen"),
        pixel_ratio=lenient_json.number(screen, "pixel_ratio") or 0.0,
        user_agent=lenient_json.text(screen, "user_agent", 500),
    )


def _pair(screen: JsonObject, name: str) -> tuple[int, int]:
    values = screen.get(name)
    if isinstance(values, list) and len(values) == 2 and all(type(one) is int for one in values):
        return values[0], values[1]
    return 0, 0


def _driver(folder: Path) -> JsonObject:
    try:
        driver = untrusted_files.json_value(
            untrusted_files.text(folder / "load.json", most=MAX_LOAD_BYTES)
        )
    except FileNotFoundError:
        raise LoadError("the browser's driver left no load.json") from None
    except ValueError as error:
        raise LoadError(f"load.json is unreadable: {error}") from None
    if not isinstance(driver, dict) or driver.get("schema") != SCHEMA:
        raise LoadError(f"load.json does not have schema {SCHEMA}")
    if (ended := lenient_json.text(driver, "ended", 40)) not in _ENDINGS:
        raise LoadError(f"load.json: ended as {ended!r}; known: {', '.join(_ENDINGS)}")
    return driver


@dataclass
class _Events:
    """What the events report besides requests."""

    requests: RequestCollector = field(default_factory=RequestCollector)
    loader: str = ""
    """Loader of the document; the trace calls it navigation ID."""
    requested_s: float | None = None
    """When the document was requested, on the browser's clock."""
    requested_at: float | None = None
    """The same in seconds since 1970."""
    first_paint_s: float | None = None
    _session: str = ""
    _fired: list[tuple[str, float]] = field(default_factory=list)

    def take(self, event: JsonObject) -> None:
        """Handle an event; events come in order."""
        method, params = lenient_json.text(event, "method", 80), lenient_json.part(event, "params")
        self.requests.take(method, params)
        session = lenient_json.text(event, "sessionId", 80)
        at_s = lenient_json.number(params, "timestamp")
        if method == "Network.requestWillBeSent" and not self.loader:
            self._begin(session, params)
        elif method.startswith("Page.") and session == self._session and at_s is not None:
            self._of_page(method, params, at_s)

    def at(self, method: str, began_s: float) -> float | None:
        """Return when an event of the page first fired after the navigation began."""
        times = (at_s for which, at_s in self._fired if which == method and at_s >= began_s)
        return next(times, None)

    def calendar(self, clock_s: float) -> float | None:
        """Return a time of the browser's clock in seconds since 1970."""
        if self.requested_s is None or self.requested_at is None:
            return None
        at = self.requested_at + clock_s - self.requested_s
        return at if 0 <= at < MAX_CALENDAR_S else None

    def _begin(self, session: str, params: JsonObject) -> None:
        if lenient_json.text(params, "type", 40) == "Document":
            self.loader = lenient_json.text(params, "loaderId", 200)
            self.requested_s = lenient_json.number(params, "timestamp")
            self.requested_at = lenient_json.number(params, "wallTime")
            self._session = session

    def _of_page(self, method: str, params: JsonObject, at_s: float) -> None:
        if method in {"Page.loadEventFired", "Page.domContentEventFired"}:
            self._fired.append((method, at_s))
        elif _of(params) == (self.loader, "firstContentfulPaint"):
            self.first_paint_s = at_s


def _of(lifecycle: JsonObject) -> tuple[str, str]:
    return lenient_json.text(lifecycle, "loaderId", 200), lenient_json.text(lifecycle, "name", 80)


def _events(file: Path, notes: list[str]) -> _Events:
    events = _Events()
    for event in _objects(file, notes):
        events.take(event)
    if events.requests.left_out:
        notes.append(f"{events.requests.left_out} further requests are dropped")
    return events


@dataclass
class _Marks:
    """Times of the trace, in seconds on the browser's clock."""

    began_s: float | None = None
    first_paint_s: float | None = None
    largest_paint_s: float | None = None
    """Of the last candidate; each candidate is larger than the one before."""
    largest_image_s: tuple[float, float] | None = None
    """When its image began and ended loading, since the navigation; None for a text."""

    def take(self, event: JsonObject, loader: str) -> None:
        """Handle an event of the trace if it belongs to this navigation.

        A page's script can make marks of any name and time (``performance.mark``), with the same
        navigation ID. Only the browser's own marks name a frame beside their data.
        """
        arguments = lenient_json.part(event, "args")
        data, at_us = lenient_json.part(arguments, "data"), lenient_json.number(event, "ts")
        if at_us is None or lenient_json.text(data, "navigationId", 200) != loader:
            return
        if not lenient_json.text(arguments, "frame"):
            return
        name, at_s = lenient_json.text(event, "name", 80), at_us * US
        if name == "navigationStart":
            self.began_s = self.began_s or at_s
        elif name == "firstContentfulPaint":
            self.first_paint_s = self.first_paint_s or at_s
        elif name == "largestContentfulPaint::Candidate" and at_s >= (self.largest_paint_s or 0):
            self.largest_paint_s, self.largest_image_s = at_s, _image(data)


def _image(candidate: JsonObject) -> tuple[float, float] | None:
    words = ("imageLoadStart", "imageLoadEnd")
    begin, end = (lenient_json.number(candidate, word) for word in words)
    return None if not begin or not end else (begin * MS, end * MS)


def _marks(folder: Path, loader: str, notes: list[str]) -> _Marks:
    marks = _Marks()
    if loader:
        for event in _objects(folder / "trace.jsonl", notes):
            marks.take(event, loader)
    return marks


def _frames(folder: Path, began_s: float, notes: list[str]) -> tuple[Frame, ...]:
    """Return the pictures since the start of the navigation, in order of time."""
    frames = []
    for record in _objects(folder / "frames.jsonl", notes):
        at_us, name = lenient_json.number(record, "ts"), lenient_json.text(record, "file", 40)
        if at_us is not None and at_us * US >= began_s and _PICTURE.fullmatch(name):
            frames.append(Frame(at_us * US - began_s, folder / name))
    if len(frames) > MAX_FRAMES:
        notes.append(f"{len(frames) - MAX_FRAMES} pictures are dropped")
    return tuple(sorted(frames, key=lambda frame: frame.at_s)[:MAX_FRAMES])


def _objects(file: Path, notes: list[str]) -> Iterator[JsonObject]:
    """Read a file of JSON lines; a missing file has none."""
    try:
        yield from lenient_json.objects(file)
    except FileNotFoundError:
        return
    except untrusted_files.UnreadableError as error:
        notes.append(str(error))


def _since(began_s: float, at_s: float | None) -> float | None:
    return None if at_s is None or at_s < began_s else at_s - began_s


def _ready_s(driver: JsonObject) -> float | None:
    passed_s = _navigated_s(driver, "began_ns")
    return (
        None
        if passed_s is None
        else passed_s - (lenient_json.number(driver, "before_ns") or 0.0) * NS
    )


def _cpu_s(driver: JsonObject) -> float | None:
    used_s = lenient_json.number(driver, "cpu_s")
    return None if used_s is None else used_s - (lenient_json.number(driver, "before_cpu_s") or 0.0)


def _navigated_s(driver: JsonObject, since: str) -> float | None:
    began, navigated = (lenient_json.number(driver, name) for name in (since, "navigated_ns"))
    return None if began is None or navigated is None else (navigated - began) * NS


def _pictures_end_s(driver: JsonObject, frames: Sequence[Frame]) -> float | None:
    if driver.get("pictures_cut") is not True:
        return None
    return frames[-1].at_s if frames else 0.0


def _remarks(
    driver: JsonObject, pictures_end_s: float | None, *, is_trace_cut: bool
) -> Iterator[str]:
    """Yield what is missing that no request depends on."""
    if pictures_end_s is not None:
        yield f"the pictures end at {pictures_end_s:.2f} s, so there is no Speed Index"
    if is_trace_cut:
        yield "the trace is cut off, so there is no Largest Contentful Paint"
    notes = driver.get("notes")
    texts = [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
    yield from (lenient_json.clean(text, 500) for text in texts[:MAX_NOTES])


def _dialogs(driver: JsonObject) -> tuple[tuple[str, str], ...]:
    dialogs = lenient_json.parts(driver, "dialogs")[:MAX_DIALOGS]
    return tuple(
        (lenient_json.text(dialog, "type", 40), lenient_json.text(dialog, "message", 500))
        for dialog in dialogs
    )


def parse(file: Path) -> ProgramReport:
    """Read a load by its ``load.json``, as a program's report."""
    try:
        load = read(file.parent)
    except LoadError as error:
        last = untrusted_files.last_line(file.parent, DRIVER_OUTPUT)
        return ProgramReport(complaint=f"{error}: {last}" if last else str(error))
    return ProgramReport(
        observations=timing.of_load(load),
        requests=tuple(_request(request, load.navigated_s or 0.0) for request in load.on_network()),
        before=tuple(
            _request(request, 0.0)
            for request in load.before
            if request.is_on_network and request.status
        ),
        complaint=_complaint(load),
        timed_out=load.ended == "time limit" and not (_failures(load) or load.notes),
        remarks=load.remarks,
        whole_ns=_whole_ns(load),
    )


def _whole_ns(load: BrowserLoad) -> int | None:
    ends = [request.ended_s for request in load.on_network() if request.ended_s is not None]
    if load.ended != "loaded" or load.navigation_ns is None or not ends:
        return None
    return load.navigation_ns + round(max(ends) / NS)


def _request(request: PageRequest, navigated_s: float) -> LoggedRequest:
    """Return the request as all programs log it, with times since the client's start."""
    return LoggedRequest(
        http_version=request.http_version,
        status=request.status,
        body_bytes=_body_bytes(request),
        connection=request.connection,
        path=request.path,
        authority=request.host,
        wire_bytes=_wire_bytes(request),
        announces_http3=_announces_http3(request),
        client_left=request.is_left,
        began_s=None if request.queued_s is None else navigated_s + request.queued_s,
        ended_s=None if request.ended_s is None else navigated_s + request.ended_s,
    )


def _wire_bytes(request: PageRequest) -> int | None:
    """Return the bytes of header and body; None if the browser knows only the body's."""
    is_compressed = request.http_version in {"2", "3"}
    is_unknown = request.status and is_compressed and not request.head_bytes
    return None if is_unknown else request.wire_bytes


def _announces_http3(request: PageRequest) -> bool | None:
    """Return whether the response announces HTTP/3; None without the response's header."""
    if not request.response_headers:
        return None
    return any("h3=" in value for value in _response_fields(request, "alt-svc"))


def _response_fields(request: PageRequest, name: str) -> list[str]:
    return [value for one, value in request.response_headers if one.lower() == name]


def _body_bytes(request: PageRequest) -> int | None:
    """Return the body's bytes as sent; None if the browser knows only the decoded length."""
    if request.status == NOT_MODIFIED:  # the page uses its cached body
        return 0
    encoded = bool(_response_fields(request, "content-encoding"))
    whole = request.ended_s is not None and not (request.failed or request.redirected_to)
    if request.is_left:
        return None
    return request.body_bytes if whole and not encoded else None


def _complaint(load: BrowserLoad) -> str:
    """Return what went wrong, missing events included: a missing event may have been a request."""
    parts = (_ending(load), _failures(load), *load.notes)
    return "; ".join(part for part in parts if part)


def _ending(load: BrowserLoad) -> str:
    if load.ended == "loaded":
        return ""
    ending = _REASONS[load.ended] + (f": {load.reason}" if load.reason else "")
    dialogs = [f"{kind} {message!r}" for kind, message in load.dialogs]
    return ending + (f"; dialogs that the page opened: {_shortened(dialogs)}" if dialogs else "")


def _failures(load: BrowserLoad) -> str:
    failed = [
        f"{request.path} ({request.failed})" for request in load.on_network() if request.failed
    ]
    return f"failed requests: {_shortened(failed)}" if failed else ""


def _shortened(items: Sequence[str]) -> str:
    more = f", ... ({len(items)} in all)" if len(items) > MAX_NAMED else ""
    return ", ".join(items[:MAX_NAMED]) + more
