"""What the browser driver left in its folder, read as a :class:`~.load.BrowserLoad`.

All of it may be the page's or its servers' making, down to the names in it: files are bounded, no
link is followed, and what has not the form it should have is left out and told in ``notes``.

The clock is the browser's: seconds of CLOCK_MONOTONIC for events, microseconds for the trace. The
navigation starts where the trace says ``navigationStart`` for the document, as the Performance API
does; without a trace, where the document was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from httpbed.host.sandbox import untrusted_files
from httpbed.web.load import lenient_json
from httpbed.web.load.browser_load import BrowserLoad, Ending, Frame
from httpbed.web.load.cdp_requests import RequestCollector
from httpbed.web.load.lenient_json import JsonObject

SCHEMA = 1
MOST_LOAD_BYTES = 2**22
MOST_FRAMES = 5000
MOST_DIALOGS = 100
MOST_NOTES = 10
"""Of the driver's own."""
MOST_CALENDAR_S = 2**32
"""Until the year 2106: what is told of later is no time."""
US, NS = 1e-6, 1e-9
_PICTURE = re.compile(r"frames/[0-9]{1,8}\.jpg")
_ENDINGS: dict[str, Ending] = {ending: ending for ending in get_args(Ending)}


class LoadError(ValueError):
    """There is no load to be read in a folder."""


def read(folder: Path) -> BrowserLoad:
    """Read a load.

    Raises:
        LoadError: The driver did not say how it ended, or not so that it can be understood.
    """
    driver = _driver(folder)
    notes = ["the browser told more than is kept"] if driver.get("truncated") is True else []
    told = _events(folder / "cdp.jsonl", notes)
    marks = _marks(folder, told.loader, notes)
    began_s = (
        marks.began_s or told.asked_s or (lenient_json.number(driver, "navigated_ns") or 0.0) * NS
    )
    frames = _frames(folder, began_s, notes)
    pictures_end_s = _pictures_end_s(driver, frames)
    is_torn = driver.get("trace_cut") is True
    return BrowserLoad(
        url=lenient_json.text(driver, "url"),
        ended=_ENDINGS[lenient_json.text(driver, "ended")],
        reason=lenient_json.text(driver, "reason"),
        product=lenient_json.text(driver, "product", 200),
        visit=lenient_json.text(driver, "visit", 40) or "cold",
        requests=told.requests.told(began_s),
        before=_events(folder / "cdp-before.jsonl", notes).requests.told(began_s),
        frames=frames,
        content_loaded_s=_since(began_s, told.at("Page.domContentEventFired", began_s)),
        onload_s=_since(began_s, told.at("Page.loadEventFired", began_s)),
        first_contentful_paint_s=_since(began_s, marks.first_paint_s or told.first_paint_s),
        largest_contentful_paint_s=(None if is_torn else _since(began_s, marks.largest_paint_s)),
        browser_starts=lenient_json.number(driver, "starts"),
        browser_ready_s=_ready_s(driver),
        browser_cpu_s=_cpu_s(driver),
        navigated_s=_navigated_s(driver, "started_ns"),
        dialogs=_dialogs(driver),
        navigation_ns=round(began_s / NS) or None,
        navigated_at=told.calendar(began_s),
        title=lenient_json.text(driver, "title", 500),
        pictures_end_s=pictures_end_s,
        notes=tuple(notes),
        remarks=tuple(_remarks(driver, pictures_end_s, is_torn=is_torn)),
    )


def _driver(folder: Path) -> JsonObject:
    try:
        found = json.loads(untrusted_files.text(folder / "load.json", most=MOST_LOAD_BYTES))
    except FileNotFoundError:
        raise LoadError("the browser's driver left no load.json") from None
    except lenient_json.BROKEN as error:
        raise LoadError(f"load.json is not to be understood: {error}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise LoadError(f"load.json is not of schema {SCHEMA}")
    if (ended := lenient_json.text(found, "ended", 40)) not in _ENDINGS:
        raise LoadError(f"load.json: ended as {ended!r}; known: {', '.join(_ENDINGS)}")
    return found


@dataclass
class _Events:
    """What the events tell beside requests."""

    requests: RequestCollector = field(default_factory=RequestCollector)
    loader: str = ""
    """Of the document: the trace calls it the navigation's id."""
    asked_s: float | None = None
    """When the document was asked for."""
    asked_at: float | None = None
    """The same in seconds since 1970."""
    first_paint_s: float | None = None
    _session: str = ""
    _fired: list[tuple[str, float]] = field(default_factory=list)

    def take(self, event: JsonObject) -> None:
        """Take one of them, in the order in which they came."""
        method, params = lenient_json.text(event, "method", 80), lenient_json.part(event, "params")
        self.requests.take(method, params)
        session = lenient_json.text(event, "sessionId", 80)
        at_s = lenient_json.number(params, "timestamp")
        if method == "Network.requestWillBeSent" and not self.loader:
            self._begin(session, params)
        elif method.startswith("Page.") and session == self._session and at_s is not None:
            self._of_page(method, params, at_s)

    def at(self, method: str, began_s: float) -> float | None:
        """Return when something first happened to the page itself, once it had begun."""
        times = (at_s for which, at_s in self._fired if which == method and at_s >= began_s)
        return next(times, None)

    def calendar(self, clock_s: float) -> float | None:
        """Return a time of the browser's clock in seconds since 1970."""
        if self.asked_s is None or self.asked_at is None:
            return None
        at = self.asked_at + clock_s - self.asked_s
        return at if 0 <= at < MOST_CALENDAR_S else None

    def _begin(self, session: str, params: JsonObject) -> None:
        if lenient_json.text(params, "type", 40) == "Document":
            self.loader = lenient_json.text(params, "loaderId", 200)
            self.asked_s = lenient_json.number(params, "timestamp")
            self.asked_at = lenient_json.number(params, "wallTime")
            self._session = session

    def _of_page(self, method: str, params: JsonObject, at_s: float) -> None:
        if method in {"Page.loadEventFired", "Page.domContentEventFired"}:
            self._fired.append((method, at_s))
        elif _of(params) == (self.loader, "firstContentfulPaint"):
            self.first_paint_s = at_s


def _of(lifecycle: JsonObject) -> tuple[str, str]:
    return lenient_json.text(lifecycle, "loaderId", 200), lenient_json.text(lifecycle, "name", 80)


def _events(file: Path, notes: list[str]) -> _Events:
    told = _Events()
    for event in _objects(file, notes):
        told.take(event)
    if told.requests.left_out:
        notes.append(f"{told.requests.left_out} further requests are left out")
    return told


@dataclass
class _Marks:
    """What the trace tells, in seconds of the browser's clock."""

    began_s: float | None = None
    first_paint_s: float | None = None
    largest_paint_s: float | None = None
    """Of the last candidate: each is larger than the one before."""

    def take(self, event: JsonObject, loader: str) -> None:
        """Take an event of the trace, if it is of this navigation."""
        data = lenient_json.part(lenient_json.part(event, "args"), "data")
        at_us = lenient_json.number(event, "ts")
        if at_us is None or lenient_json.text(data, "navigationId", 200) != loader:
            return
        name, at_s = lenient_json.text(event, "name", 80), at_us * US
        if name == "navigationStart":
            self.began_s = self.began_s or at_s
        elif name == "firstContentfulPaint":
            self.first_paint_s = self.first_paint_s or at_s
        elif name == "largestContentfulPaint::Candidate":
            self.largest_paint_s = max(self.largest_paint_s or at_s, at_s)


def _marks(folder: Path, loader: str, notes: list[str]) -> _Marks:
    marks = _Marks()
    if loader:
        for event in _objects(folder / "trace.jsonl", notes):
            marks.take(event, loader)
    return marks


def _frames(folder: Path, began_s: float, notes: list[str]) -> tuple[Frame, ...]:
    """Return the pictures since the navigation began, in order of time."""
    found = []
    for told in _objects(folder / "frames.jsonl", notes):
        at_us, name = lenient_json.number(told, "ts"), lenient_json.text(told, "file", 40)
        if at_us is not None and at_us * US >= began_s and _PICTURE.fullmatch(name):
            found.append(Frame(at_us * US - began_s, folder / name))
    if len(found) > MOST_FRAMES:
        notes.append(f"{len(found) - MOST_FRAMES} pictures are left out")
    return tuple(sorted(found, key=lambda frame: frame.at_s)[:MOST_FRAMES])


def _objects(file: Path, notes: list[str]) -> list[JsonObject]:
    """Read a file of the driver; one that is not there means that there was nothing to tell."""
    try:
        return list(lenient_json.objects(file))
    except FileNotFoundError:
        return []
    except untrusted_files.UnreadableError as error:
        notes.append(str(error))
        return []


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


def _remarks(driver: JsonObject, pictures_end_s: float | None, *, is_torn: bool) -> Iterator[str]:
    """Say what is missing that no request depends on."""
    if pictures_end_s is not None:
        yield f"the pictures end at {pictures_end_s:.2f} s, so there is no Speed Index"
    if is_torn:
        yield "the trace is cut off, so there is no Largest Contentful Paint"
    found = driver.get("notes")
    texts = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
    yield from (lenient_json.clean(one, 500) for one in texts[:MOST_NOTES])


def _dialogs(driver: JsonObject) -> tuple[tuple[str, str], ...]:
    told = lenient_json.parts(driver, "dialogs")[:MOST_DIALOGS]
    return tuple(
        (lenient_json.text(one, "type", 40), lenient_json.text(one, "message", 500)) for one in told
    )
