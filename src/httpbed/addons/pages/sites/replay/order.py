"""When a replayed request is made: after which response, and how long after.

The requests of a load depend on each other, and on the browser's computing between them. Wang et
al. ("How speedy is SPDY?", NSDI 2014, section 4) replay both with Epload, which makes no choices of
its own. Here, too, a request follows the response that caused it, after the recorded time between
them. The cause is the recorded initiator. A document causes requests while it arrives, so an
initiator that had not ended counts from its head. Without an initiator, the cause is the response
that ended last before the request; if none had ended, the document's head.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from httpbed.addons.pages.sites.replay.selection import SelectedRequest, Selection
from httpbed.addons.pages.sites.site import MOST_S


@dataclass(frozen=True)
class Trigger:
    """The cause of a request."""

    after: int | None
    """Index of the request whose response caused it; None for the first."""
    since: Literal["head", "end"]
    wait_s: float


@dataclass(frozen=True)
class _Times:
    """Times of an entry, in seconds since 1970."""

    start: float
    head: float
    end: float


def triggers(selected: Selection) -> list[Trigger]:
    """Return the cause of each request."""
    requests, document = selected.requests, selected.document
    times = [_times(one) for one in requests]
    last = _chain_ends(requests)
    initiators = _initiators(requests, last)
    ended = _ended_before(requests, times, document)
    causes: list[Trigger] = []
    for number, one in enumerate(requests):
        if number <= document or one.follows is not None:
            before = one.follows if one.follows is not None else (number - 1 if number else None)
            causes.append(Trigger(before, "end", 0.0))
            continue
        after = initiators[number]
        if after is None:
            after = ended[number]
        causes.append(_trigger(document if after is None else after, times, times[number].start))
    return causes


def _times(one: SelectedRequest) -> _Times:
    timings = one.entry.timings
    # ssl is part of connect, and queued is part of blocked
    parts = (
        timings.blocked,
        timings.dns,
        timings.connect,
        timings.send,
        timings.wait,
        timings.receive,
    )
    added = sum(part for part in parts if part is not None)
    lasted = one.entry.time_s if one.entry.time_s is not None else added
    start = one.entry.started_s
    return _Times(start, start + max(0.0, lasted - (timings.receive or 0.0)), start + lasted)


def _trigger(after: int, times: Sequence[_Times], start: float) -> Trigger:
    since: Literal["head", "end"] = "end" if times[after].end <= start else "head"
    begun = times[after].end if since == "end" else times[after].head
    return Trigger(after, since, round(min(MOST_S, max(0.0, start - begun)), 4))


def _chain_ends(requests: Sequence[SelectedRequest]) -> list[int]:
    """Map each request to the last of its redirects, or to itself."""
    last = list(range(len(requests)))
    for number in range(len(requests) - 1, -1, -1):
        if (before := requests[number].follows) is not None:
            last[before] = last[number]
    return last


def _initiators(requests: Sequence[SelectedRequest], last: Sequence[int]) -> list[int | None]:
    """Return the recorded initiator of each request, if it was requested before."""
    seen: dict[str, int] = {}
    initiators: list[int | None] = []
    for number, one in enumerate(requests):
        cause = seen.get(one.entry.initiator) if one.entry.initiator else None
        initiators.append(None if cause is None or last[cause] >= number else last[cause])
        seen[one.entry.url] = number
    return initiators


def _ended_before(
    requests: Sequence[SelectedRequest], times: Sequence[_Times], document: int
) -> list[int | None]:
    """Return the response that ended last before each request, from the document on."""
    open_: list[tuple[float, int]] = []
    latest: tuple[float, int] | None = None
    last_ended: list[int | None] = []
    for number, one in enumerate(requests):
        while open_ and open_[0][0] <= times[number].start:
            latest = max(latest or open_[0], heapq.heappop(open_))
        last_ended.append(latest[1] if latest else None)
        if number >= document and not one.is_redirect:
            heapq.heappush(open_, (times[number].end, number))
    return last_ended
