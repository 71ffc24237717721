"""Durations of a load and of its requests, and the observations that they are.

Only complete responses over the network count: browsers abort requests themselves, and the end of a
failed request is not a last byte. Metrics of the whole page need a load that ended as loaded. One
that reached its time limit has the metrics of events before it.

A request spent its time in the phases of HAR 1.2. As in Chrome's HAR files, each phase lasts until
the next one begins, so there are no gaps between the first and the last event. Time between DNS and
the start of the connection belongs to ``dns``; time that a request waits for an existing connection
belongs to ``connect``. ``receive`` begins when the response's header is complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.experiment.metric import Observation

Kind = Literal["blocked", "dns", "connect", "send", "wait", "receive"]
Interval = tuple[float, float]
"""Start and end, in seconds since the navigation started."""
MAX_NAME = 200
"""Characters of a resource's name."""


@dataclass(frozen=True)
class Phase:
    """One phase of a request, in seconds since the navigation began."""

    kind: Kind
    begin_s: float
    end_s: float


def begun_s(request: PageRequest) -> float | None:
    """Return the earliest known time of a request; None without any."""
    times = (
        request.queued_s,
        request.started_s,
        request.dns_start_s,
        request.connect_start_s,
        request.send_start_s,
        request.ended_s,
    )
    return next((one for one in times if one is not None), None)


def phases(request: PageRequest) -> list[Phase]:
    """Return the phases of a request in order and without gaps; a phase may have no length.

    Phases that the browser did not report are absent. Times that run backwards are clamped.
    """
    begins = list(_begins(request))
    last = begins[-1][1] if begins else 0.0
    end = last if request.ended_s is None else max(last, request.ended_s)
    times = [*(begin for _, begin in begins), end]
    kinds = (kind for kind, _ in begins)
    return [
        Phase(kind, begin, after)
        for kind, (begin, after) in zip(kinds, pairwise(times), strict=True)
    ]


def _begins(request: PageRequest) -> Iterator[tuple[Kind, float]]:
    begins: tuple[tuple[Kind, float | None], ...] = (
        ("blocked", begun_s(request)),
        ("dns", request.dns_start_s),
        ("connect", request.connect_start_s),
        ("send", request.send_start_s),
        ("wait", request.send_end_s),
        ("receive", request.headers_end_s),
    )
    latest = float("-inf")
    for kind, at_s in begins:
        if at_s is not None:
            latest = max(latest, at_s)
            yield kind, latest


def fetched(load: BrowserLoad) -> tuple[PageRequest, ...]:
    """Return the requests whose responses arrived completely over the network."""
    return tuple(
        request
        for request in load.on_network()
        if not request.failed and request.ended_s is not None
    )


def time_to_first_byte_s(load: BrowserLoad) -> float | None:
    """Return when the page's own response began to arrive, after redirects; None if not known.

    A HAR file has only the end of ``wait``, which is read as the end of the header.
    """
    document = next((request for request in load.requests if not request.redirected_to), None)
    if document is None or not document.is_on_network:
        return None
    began_s = document.headers_start_s
    return document.headers_end_s if began_s is None else began_s


def page_load_time_s(load: BrowserLoad) -> float | None:
    """Return when the last byte arrived; None without one."""
    return max(
        (request.ended_s for request in fetched(load) if request.ended_s is not None), default=None
    )


def network_page_load_time_s(load: BrowserLoad) -> float | None:
    """Return for how long at least one resource was between queueing and its last byte.

    Biswal & Gnawali 2016, section 3.1: the time solely in network activity. Overlapping resources
    count once, and time in which only scripts ran does not count.
    """
    waits = [span for request in fetched(load) if (span := queued_until_whole(request))]
    return sum(end - start for start, end in merged(waits)) if waits else None


def queued_until_whole(request: PageRequest) -> Interval | None:
    """Return the interval from the page's request to the last byte."""
    start, end = request.queued_s, request.ended_s
    return None if start is None or end is None or end < start else (start, end)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the union of intervals as disjoint intervals, in order."""
    disjoint: list[Interval] = []
    for start, end in sorted(intervals):
        if disjoint and start <= disjoint[-1][1]:
            disjoint[-1] = (disjoint[-1][0], max(disjoint[-1][1], end))
        else:
            disjoint.append((start, end))
    return disjoint


def wire_bytes(load: BrowserLoad) -> int:
    """Return the bytes of all responses, header and body, on the wire; broken ones included."""
    return sum(request.wire_bytes for request in load.on_network())


def throughput(load: BrowserLoad) -> float | None:
    """Return the bytes of all complete responses over the page load time, in byte/s.

    Zhang & Song 2023, section 5: all received data over the time to receive the entire response.
    """
    took_s = page_load_time_s(load)
    return sum(request.wire_bytes for request in fetched(load)) / took_s if took_s else None


def connections(load: BrowserLoad) -> int | None:
    """Return the number of connections; None if the browser did not report all of them."""
    over = [request.connection for request in load.on_network() if request.status]
    return len(set(over)) if over and all(over) else None


def of_load(load: BrowserLoad) -> tuple[Observation, ...]:
    """Return the observations of a load."""
    values: dict[str, float | None] = {}
    if load.ended == "loaded":
        values = {
            "page_time_to_first_byte": time_to_first_byte_s(load),
            "speed_index": _speed_index(load),
            "first_contentful_paint": load.first_contentful_paint_s,
            "largest_contentful_paint": load.largest_contentful_paint_s,
            "page_load_time": page_load_time_s(load),
            "network_page_load_time": network_page_load_time_s(load),
            "onload_time": load.onload_s,
            "page_throughput": throughput(load),
            "page_bytes": wire_bytes(load),
            "page_requests": len(load.on_network()),
            "page_connections": connections(load),
            "browser_cpu": load.browser_cpu_s,
            "browser_ready_time": load.browser_ready_s,
            "browser_starts": load.browser_starts,
        }
    elif load.ended == "time limit":
        values = {
            "page_time_to_first_byte": time_to_first_byte_s(load),
            "first_contentful_paint": load.first_contentful_paint_s,
            "onload_time": load.onload_s,
            "browser_ready_time": load.browser_ready_s,
        }
    return (*_observed(values), *_of_resources(load))


def _observed(values: Mapping[str, float | None], item: str = "") -> Iterator[Observation]:
    for metric, value in values.items():
        if value is not None:
            yield Observation(metric=metric, value=value, source="client", item=item)


def _speed_index(load: BrowserLoad) -> float | None:
    # Reading recipes needs parsers' names only, and numpy takes 0.2 s to import.
    from httpbed.addons.pages.load import speed_index
    from httpbed.addons.pages.load.speed_index import PictureError

    with suppress(PictureError):
        if progress := speed_index.of_load(load):
            return speed_index.speed_index(progress)
    return None


def _of_resources(load: BrowserLoad) -> Iterator[Observation]:
    requests = fetched(load)
    for request, name in zip(requests, resource_names(requests), strict=True):
        sent_s, whole_s = request.send_start_s, request.ended_s
        values = {
            "resource_start": sent_s,
            # Zhang & Song 2023 call it the round-trip time; it has the server's queueing, too.
            "resource_time_to_first_byte": _length_s(sent_s, request.headers_end_s),
            "resource_time": _length_s(sent_s, whole_s),
            "resource_time_queued": _length_s(request.queued_s, whole_s),
        }
        yield from _observed(values, name)


def _length_s(start_s: float | None, end_s: float | None) -> float | None:
    return None if start_s is None or end_s is None or end_s < start_s else end_s - start_s


def resource_names(requests: Sequence[PageRequest]) -> list[str]:
    """Return a unique name for each request, with its host if it is not the first request's.

    A repeated name has a number added.
    """
    seen = Counter[str]()
    own = requests[0].authority if requests else ""
    given = []
    for request in requests:
        host, path = request.authority, request.path
        name = (path if host == own else f"//{host}{path}")[:MAX_NAME]
        seen[name] += 1
        given.append(f"{name}, {seen[name]}" if seen[name] > 1 else name)
    return given
