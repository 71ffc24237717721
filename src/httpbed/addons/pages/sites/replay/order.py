"""When a replayed request is made: after which response, and how long after.

The requests of a load depend on each other, and on the browser's computing between them. Wang et
al. ("How speedy is SPDY?", NSDI 2014, section 4) replay both with Epload, which makes no choices of
its own. Here, too, a request follows the response that caused it, after the recorded time between
them. The cause is the recorded initiator. A document causes requests while it arrives, so an
initiator that had not ended counts from its head. Without an initiator, the cause is the response
that ended last before the request; if none had ended, the document's head.

If the recorded document cannot request the resources, a skeleton takes its place. Its script
requests each resource by ``fetch`` after the response that caused it. The promise resolves with the
response's head; the body's end is its end. An empty frame stays open until all has arrived, so that
the load event fires then and not before. Priorities are the recorded ones as far as ``fetch`` has
them.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from httpbed.addons.pages.sites.replay.selection import SelectedRequest, Selection
from httpbed.addons.pages.sites.site import MAX_S


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
    times = [_times(request) for request in requests]
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
    start = one.entry.requested_at
    return _Times(start, start + max(0.0, lasted - (timings.receive or 0.0)), start + lasted)


def _trigger(after: int, times: Sequence[_Times], start: float) -> Trigger:
    since: Literal["head", "end"] = "end" if times[after].end <= start else "head"
    begun = times[after].end if since == "end" else times[after].head
    return Trigger(after, since, round(min(MAX_S, max(0.0, start - begun)), 4))


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


PLAN_PATH = "/.httpbed/replay.js"
"""Path of the script if the document is too short for it."""
_LOW, _HIGH = frozenset({"low", "verylow", "lowest"}), frozenset({"high", "veryhigh", "highest"})
_HEAD = '<!doctype html><meta charset=utf-8><link rel=icon href="data:,">'
_SCRIPT = """(()=>{
const P=PLAN,K={};
P.forEach((p,j)=>(K[p[1]+","+p[2]]??=[]).push(j));
let n=P.length;
const f=document.createElement("iframe");
f.hidden=true;
document.documentElement.append(f);
const d=f.contentDocument;
d.open();
const led=(i,s)=>{
for(const j of K[i+","+s]??[])P[j][3]?setTimeout(ask,P[j][3],j):ask(j);
K[i+","+s]=[]
};
const ask=async j=>{
const[u,,,,o]=P[j];
try{
const r=await fetch(u,{credentials:"include",...o,...(o?.body&&{body:" ".repeat(o.body)})});
led(j,0);
await r.arrayBuffer()
}catch{}
led(j,0);led(j,1);
--n||d.close()
};
n||d.close();
addEventListener("DOMContentLoaded",()=>led(-1,1));
led(-1,0)
})()"""


def script(selected: Selection, triggers: Sequence[Trigger]) -> str:
    """Return the script; the browser follows redirects by itself."""
    numbers = [
        number
        for number, one in enumerate(selected.requests)
        if number > selected.document and one.follows is None
    ]
    places = {number: place for place, number in enumerate(numbers)}
    places |= dict.fromkeys(range(selected.document + 1), -1)
    for number, one in enumerate(selected.requests):
        if one.follows is not None:
            places[number] = places[one.follows]
    times = Counter(request.target for request in selected.requests)
    plan = [
        _planned(
            selected, number, triggers[number], places, times[selected.requests[number].target]
        )
        for number in numbers
    ]
    plan_text = json.dumps(plan, separators=(",", ":")).replace("<", "\\u003c")
    return _SCRIPT.replace("PLAN", plan_text, 1)


def _planned(
    selected: Selection, number: int, trigger: Trigger, places: dict[int, int], times: int
) -> list[Any]:
    """Return URL, cause in the plan (-1: the document), head or end of the cause, wait, options."""
    one = selected.requests[number]
    first = selected.requests[selected.document]
    is_near = one.host == first.host and not one.path.startswith("//")
    url = one.path if is_near else f"//{one.host}{one.path}"
    after = -1 if trigger.after is None else places[trigger.after]
    wait_ms = round(trigger.wait_s * 1000)
    entry = [url, after, int(trigger.since == "end"), wait_ms]
    options = _options(one, times)
    return [*entry, options] if options else entry


def _options(one: SelectedRequest, times: int) -> dict[str, Any]:
    entry, options = one.entry, dict[str, Any]()
    if entry.method.upper() != "GET":
        options["method"] = entry.method.upper()
    if entry.method.upper() == "POST" and entry.posted:
        options["body"] = len(entry.posted.encode())
    priority = entry.priority.replace("-", "").lower()
    if priority in _LOW | _HIGH:
        options["priority"] = "low" if priority in _LOW else "high"
    if times > 1:  # the second response may differ, so no cache may answer
        options["cache"] = "no-store"
    return options


def inline(text: str) -> bytes:
    """Return a document with the script in it."""
    return f"{_HEAD}<script>{text}</script>".encode()


def outside() -> bytes:
    """Return a document that loads the script."""
    return f"<script src={PLAN_PATH}></script>".encode()
