"""When each recorded request is asked for again: after which answer, and how long after.

A load's requests depend on each other, and on what the browser computes between them; Wang et al.
("How speedy is SPDY?", NSDI 2014, section 4) replay both without a browser's own choices, by
Epload. Here, too, a request follows the answer that led to it, by the time that lay between them in
the recording. Which answer that is the recording may tell: its initiator. A document leads to
requests while it still comes; so an initiator whose answer had not ended counts from its head.
Where none is told, it is the answer that had ended last before the request was made; where none had
ended, the document's head.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from httpbed.web.sites.replay.selection import ReplayedRequest, Selection
from httpbed.web.sites.site import MOST_S


@dataclass(frozen=True)
class Trigger:
    """What led to a request."""

    after: int | None
    """Index of the request whose answer did; None of the first of all."""
    since: Literal["head", "end"]
    wait_s: float


@dataclass(frozen=True)
class _Times:
    """Of one entry, in seconds since 1970."""

    start: float
    head: float
    end: float


def triggers(chosen: Selection) -> list[Trigger]:
    """Find what led to each request, in order."""
    asked, document = chosen.asked, chosen.document
    times = [_times(one) for one in asked]
    last = _chain_ends(asked)
    told = _initiators(asked, last)
    ended = _ended_before(asked, times, document)
    found: list[Trigger] = []
    for number, one in enumerate(asked):
        if number <= document or one.follows is not None:
            before = one.follows if one.follows is not None else (number - 1 if number else None)
            found.append(Trigger(before, "end", 0.0))
            continue
        after = told[number]
        if after is None:
            after = ended[number]
        found.append(_trigger(document if after is None else after, times, times[number].start))
    return found


def _times(one: ReplayedRequest) -> _Times:
    said = one.entry.timings
    # ssl is within connect, and queued within blocked.
    parts = (said.blocked, said.dns, said.connect, said.send, said.wait, said.receive)
    added = sum(part for part in parts if part is not None)
    lasted = one.entry.time_s if one.entry.time_s is not None else added
    start = one.entry.started_s
    return _Times(start, start + max(0.0, lasted - (said.receive or 0.0)), start + lasted)


def _trigger(after: int, times: Sequence[_Times], start: float) -> Trigger:
    since: Literal["head", "end"] = "end" if times[after].end <= start else "head"
    begun = times[after].end if since == "end" else times[after].head
    return Trigger(after, since, round(min(MOST_S, max(0.0, start - begun)), 4))


def _chain_ends(asked: Sequence[ReplayedRequest]) -> list[int]:
    """Map each request to the last of the redirects that it began; to itself, if it is none."""
    last = list(range(len(asked)))
    for number in range(len(asked) - 1, -1, -1):
        if (before := asked[number].follows) is not None:
            last[before] = last[number]
    return last


def _initiators(asked: Sequence[ReplayedRequest], last: Sequence[int]) -> list[int | None]:
    """Find whom the recording names as the cause, among those that were asked for before."""
    seen: dict[str, int] = {}
    found: list[int | None] = []
    for number, one in enumerate(asked):
        cause = seen.get(one.entry.initiator) if one.entry.initiator else None
        found.append(None if cause is None or last[cause] >= number else last[cause])
        seen[one.entry.url] = number
    return found


def _ended_before(
    asked: Sequence[ReplayedRequest], times: Sequence[_Times], document: int
) -> list[int | None]:
    """Find the answer that had ended last when each request was made, the document's or a later."""
    open_: list[tuple[float, int]] = []
    latest: tuple[float, int] | None = None
    found: list[int | None] = []
    for number, one in enumerate(asked):
        while open_ and open_[0][0] <= times[number].start:
            latest = max(latest or open_[0], heapq.heappop(open_))
        found.append(latest[1] if latest else None)
        if number >= document and not one.is_redirect:
            heapq.heappush(open_, (times[number].end, number))
    return found
