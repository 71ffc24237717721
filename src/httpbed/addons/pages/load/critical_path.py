"""The critical path of a load: what had to happen, one after the other, until a moment of it.

# Theory of operation

*Backwards.* The path is read from its end, such as the largest contentful paint. What came last
before it and was needed for it is on the path: the image that was painted, or a stylesheet or
script that kept the page from painting. Between its last byte and the paint the browser worked.
Before it the same question is asked of the moment at which that resource was asked for: which
resource made the browser ask? So on to the start of the navigation (WProf: Wang, Balasubramanian,
Krishnamurthy, Wetherall, NSDI 2013). Steps follow each other without a gap, and add up to the
whole.

*What made the browser ask.* The browser names an **initiator**. A parser asks while the document
arrives, and then nothing else is on the path. After the document has arrived, a parser or script
may still wait for another resource: the one that arrived last before the request was asked for is
on the path. Only scripts, stylesheets, and what scripts fetch make a browser go on; images do not.

*Waiting and receiving.* Of the wait for an answer, one idle round trip is the network's. While the
rest of it, or the body, takes its time, the link may carry **other responses**: they take the time
that the link needs for their bytes. Its own bytes take theirs. While others arrive over the same
connection, what is left is a connection that is **slower than the link**: a window, or losses. What
then is left of the wait is **waiting**: for the server, or for a request that was lost or held back
on its way, which a browser cannot tell apart. What is left of the body is the connection's, too.

The cause of a step is inferred from times: another resource may have arrived at the same moment by
chance.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

Share = Literal["network", "waiting", "browser", "queueing", "priorities"]
"""``queueing``: the browser has not sent the request. ``priorities``: the link carries other
responses first."""
SHARES = get_args(Share)
Goal = Literal[
    "largest_contentful_paint", "first_contentful_paint", "onload_time", "page_load_time"
]
"""The metric whose time a path divides."""
GOALS: tuple[Goal, ...] = get_args(Goal)

BLOCKING = frozenset({"Blocking", "InBodyParserBlocking"})
"""Of the browser's words: what keeps a page from painting, or its parser from going on."""
GOES_ON = frozenset({"Script", "Stylesheet", "Fetch", "XHR", "Document"})
"""Kinds of resources whose arrival makes a browser ask for more."""
MAX_STEPS = 2000
BEHIND = "behind other responses"
SLOWER = "slower than the link"
OWN_BYTES = "own bytes at the link's rate"
WAITING = "waiting"
RESPONSE = frozenset({BEHIND, SLOWER, OWN_BYTES, WAITING})
"""What the time of a response is divided into, from a round trip after its request on."""
BITS = 8
COARSE_S = 1e-4
"""Browsers round the times of paints to so much (High Resolution Time, clock resolution)."""


@dataclass(frozen=True)
class Step:
    """A part of the path, in seconds since the navigation began."""

    begin_s: float
    end_s: float
    share: Share
    what: str
    request: PageRequest | None
    """The resource that it was spent on; None before the document was asked for."""
    behind: PageRequest | None = None
    """Whose response had most of the bytes that the link carried first."""

    @property
    def lasts_s(self) -> float:
        """Its length in seconds."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class CriticalPath:
    """The steps from the navigation to the moment that a metric is about."""

    goal: Goal
    steps: tuple[Step, ...]
    needed: frozenset[str] = frozenset()
    """The requests that the moment waits for, by their IDs; on the path is the last of them."""

    @property
    def whole_s(self) -> float:
        """When the goal was reached."""
        return self.steps[-1].end_s

    @cached_property
    def requests(self) -> tuple[PageRequest, ...]:
        """The resources on the path, in its order."""
        known = {step.request.id: step.request for step in self.steps if step.request}
        return tuple(known.values())

    def shares(self) -> Mapping[Share, float]:
        """Return the seconds of each share; all of them, and they add up to the whole."""
        totals = dict.fromkeys(SHARES, 0.0)
        for step in self.steps:
            totals[step.share] += step.lasts_s
        return totals

    def causes(self) -> list[tuple[Step, float]]:
        """Return each kind of step of each resource with its seconds, the longest first.

        Of several steps of a kind, the longest one stands for all.
        """
        groups = defaultdict[tuple[str, str], list[Step]](list)
        for step in self.steps:
            groups[step.what, step.request.id if step.request else ""].append(step)
        found = [
            (max(some, key=lambda one: one.lasts_s), sum(one.lasts_s for one in some))
            for some in groups.values()
        ]
        return sorted(found, key=lambda one: -one[1])


def paint_parts(load: BrowserLoad) -> Mapping[str, float] | None:
    """Return Chrome's four parts of the largest contentful paint, in seconds; they add up to it.

    As Google's web-vitals library computes them (``onLCP`` with attribution). A text has no
    resource: its load delay and duration are 0. None if the paint or its start is unknown.
    """
    paint, first = load.largest_contentful_paint_s, timing.time_to_first_byte_s(load)
    if paint is None or first is None:
        return None
    first, begin, end = min(first, paint), first, first
    if (image := largest_image(load)) is not None:
        begins = (image.send_start_s, image.queued_s)
        begin = next((one for one in begins if one is not None), first)
        end = paint if image.ended_s is None else image.ended_s
    begin = min(paint, max(first, begin))
    end = min(paint, max(begin, end))
    return {
        "time to first byte": first,
        "resource load delay": begin - first,
        "resource load duration": end - begin,
        "element render delay": paint - end,
    }


def largest_image(load: BrowserLoad) -> PageRequest | None:
    """Return the request of the image that was painted last as the largest; None for a text.

    The browser says when that image was loaded and not which it was, so the request whose times
    are nearest is taken. Times that differ by no more than the browser's rounding are equal.
    """
    if load.largest_image_s is None:
        return None
    begin_s, end_s = load.largest_image_s
    images = [request for request in timing.fetched(load) if request.kind == "Image"]

    def distance(request: PageRequest) -> tuple[float, float]:
        began = request.send_start_s if request.send_start_s is not None else request.queued_s
        away_s = abs((request.ended_s or 0.0) - end_s), abs((began or 0.0) - begin_s)
        clear_s = [max(0.0, seconds - COARSE_S) for seconds in away_s]
        return clear_s[0] + clear_s[1] / 10, sum(away_s)

    return min(images, key=distance, default=None)


def goal_of(metric: str) -> Goal:
    """Return the metric whose path explains another: LCP for metrics such as Speed Index."""
    if metric == "network_page_load_time":  # no single moment ends it
        return "page_load_time"
    return next((goal for goal in GOALS if goal == metric), GOALS[0])


def critical_path(
    load: BrowserLoad,
    *,
    round_trip_s: float,
    rate_bit_s: float | None,
    goal: Goal = "largest_contentful_paint",
) -> CriticalPath | None:
    """Return the path of a metric, or of a later one of GOALS; None if nothing was fetched.

    Args:
        load: The load.
        round_trip_s: Of the idle path.
        rate_bit_s: Of its narrowest link towards the client; None without one.
        goal: The metric.
    """
    found = _reached(load, goal)
    if found is None:
        return None
    known, end_s = found
    reader = _Reader(load, round_trip_s, rate_bit_s)
    steps = [step for step in reader.steps(known, end_s) if step.lasts_s > 0]
    needed = frozenset(request.id for request in reader.needed(known, end_s))
    return CriticalPath(known, tuple(steps[::-1]), needed) if steps else None


def _reached(load: BrowserLoad, goal: Goal) -> tuple[Goal, float] | None:
    times = (
        load.largest_contentful_paint_s,
        load.first_contentful_paint_s,
        load.onload_s,
        timing.page_load_time_s(load),
    )
    later = itertools.dropwhile(lambda one: one[0] != goal, zip(GOALS, times, strict=True))
    return next(((name, at_s) for name, at_s in later if at_s is not None), None)


@dataclass(frozen=True)
class _Reader:
    load: BrowserLoad
    round_trip_s: float
    rate_bit_s: float | None

    @cached_property
    def _arrived(self) -> list[PageRequest]:
        """The requests that were answered, in the order of their last bytes."""
        known = [
            request for request in timing.fetched(self.load) if timing.begun_s(request) is not None
        ]
        return sorted(known, key=_end)

    def steps(self, goal: Goal, end_s: float) -> Iterator[Step]:
        """Yield the steps, the last one first."""
        needed = self.needed(goal, end_s)
        request = max(needed, key=lambda one: (min(_end(one), end_s), _end(one)), default=None)
        at, seen = end_s, set[str]()
        what = "after its last byte"
        for _ in range(MAX_STEPS):
            if request is None or request.id in seen:
                break
            seen.add(request.id)
            stop = min(_end(request), at)
            yield Step(stop, at, "browser", what, request)
            own = [*self._of_request(request, stop)]
            yield from own[::-1]
            at = own[0].begin_s if own else stop
            request, what = self._cause(request, at), "until it asked for the next"
        yield Step(0.0, at, "browser", "before the navigation's request", None)

    def needed(self, goal: Goal, end_s: float) -> list[PageRequest]:
        """Return the resources that a moment waited for."""
        before = [request for request in self._arrived if _begin(request) < end_s]
        if goal in {"onload_time", "page_load_time"}:
            return before
        image = largest_image(self.load) if goal == "largest_contentful_paint" else None
        needed = [
            request
            for request in before
            if _end(request) <= end_s
            and (self._is_blocking(request) or (image and request.id == image.id))
        ]
        return needed or before[:1]

    def _is_blocking(self, one: PageRequest) -> bool:
        """Whether a page is not painted before a resource is there."""
        if any(other.render_blocking for other in self._arrived):
            return one.render_blocking in BLOCKING or one.id == self._document_id
        return one.kind in {"Stylesheet", "Script"} or one.id == self._document_id

    @cached_property
    def _document_id(self) -> str:
        document = next(
            (request for request in self.load.requests if not request.redirected_to), None
        )
        return document.id if document else ""

    def _cause(self, request: PageRequest, asked_s: float) -> PageRequest | None:
        """Return the resource whose arrival made the browser ask for a request."""
        earlier = [one for one in self._arrived if one is not request and _begin(one) < asked_s]
        for one in earlier:
            if one.redirected_to and one.redirected_to == request.url:
                return one
        if request.id == self._document_id:
            return None
        initiator = next(
            (
                one
                for one in earlier[::-1]
                if one.url == request.initiator and not one.redirected_to
            ),
            next((one for one in earlier if one.id == self._document_id), None),
        )
        if initiator is None or _end(initiator) > asked_s:
            return initiator
        between = [
            one
            for one in earlier
            if _end(initiator) < _end(one) <= asked_s
            and (one.kind in GOES_ON or one.initiator == request.initiator != "")
            and one.kind != "Image"
        ]
        return max(between, key=_end, default=initiator)

    def _of_request(self, request: PageRequest, stop: float) -> Iterator[Step]:
        """Yield the steps of a request from its being asked for, in order."""
        for phase in timing.phases(request):
            begin, end = phase.begin_s, min(phase.end_s, stop)
            if end <= begin:
                continue
            if phase.kind == "blocked":
                yield Step(begin, end, "queueing", "held back by the browser", request)
            elif phase.kind in {"dns", "connect"}:
                yield Step(begin, end, "network", "connection", request)
            elif phase.kind in {"send", "wait"}:
                yield from self._wait(request, begin, end)
            else:
                yield from self._body(request, begin, end)

    def _wait(self, request: PageRequest, begin: float, end: float) -> Iterator[Step]:
        heard = min(end, begin + self.round_trip_s)
        others_s, largest = self._others(request, heard, end)
        behind = min(end - heard, others_s)
        # A header that shares a TLS record with the body is read when the record is whole.
        before = self._at_rate_s(request.wire_bytes * BITS) - max(0.0, _end(request) - end)
        own = min(max(0.0, before), end - heard - behind)
        slower = min(
            max(0.0, self._shared_s(request, heard, end) - behind), end - heard - behind - own
        )
        yield from _laid_out(
            Step(begin, end, "network", "round trip", request, largest),
            ("network", "round trip", heard - begin),
            ("priorities", BEHIND, behind),
            ("network", SLOWER, slower),
            ("waiting", WAITING, end - heard - behind - own - slower),
            ("network", OWN_BYTES, own),
        )

    def _body(self, request: PageRequest, begin: float, end: float) -> Iterator[Step]:
        lasts = end - begin
        own = min(lasts, self._at_rate_s(request.wire_bytes * BITS))
        others_s, largest = self._others(request, begin, end)
        behind = min(lasts - own, others_s)
        yield from _laid_out(
            Step(begin, end, "network", OWN_BYTES, request, largest),
            ("priorities", BEHIND, behind),
            ("network", OWN_BYTES, own),
            ("network", SLOWER, lasts - own - behind),
        )

    def _at_rate_s(self, bits: float) -> float:
        return bits / self.rate_bit_s if self.rate_bit_s else 0.0

    def _others(
        self, request: PageRequest, begin: float, end: float
    ) -> tuple[float, PageRequest | None]:
        """Return the time that the link needs for what arrived of other responses meanwhile.

        And the response of which most arrived.
        """
        bits = dict[str, float]()
        known = {one.id: one for one in self._arrived}
        for one in self._arrived:
            start = one.headers_start_s if one.headers_start_s is not None else one.headers_end_s
            if one is request or start is None or _end(one) <= begin or start >= end:
                continue
            lasts = max(_end(one) - start, 1e-9)
            shared = min(end, _end(one)) - max(begin, start)
            bits[one.id] = one.wire_bytes * BITS * shared / lasts
        largest = max(bits, key=lambda bit: bits[bit], default="")
        return self._at_rate_s(sum(bits.values())), known.get(largest)

    def _shared_s(self, request: PageRequest, begin: float, end: float) -> float:
        """Return for how long other responses arrived over the same connection."""
        spans = [
            (max(begin, start), min(end, _end(one)))
            for one in self._arrived
            if one is not request
            and one.connection == request.connection != ""
            and (start := one.headers_start_s) is not None
            and start < end
            and _end(one) > begin
        ]
        return sum(last - first for first, last in timing.merged(spans))


def _laid_out(whole: Step, *parts: tuple[Share, str, float]) -> Iterator[Step]:
    """Yield parts of an interval one after the other: their order within it is not known."""
    ends = [whole.begin_s]
    for _, _, lasts in parts:
        ends.append(ends[-1] + lasts)
    for (share, what, _), (start, end) in zip(parts, itertools.pairwise(ends), strict=True):
        behind = whole.behind if what == BEHIND else None
        yield Step(start, end, share, what, whole.request, behind)


def _begin(request: PageRequest) -> float:
    return timing.begun_s(request) or 0.0


def _end(request: PageRequest) -> float:
    return request.ended_s or 0.0
