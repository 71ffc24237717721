"""How long a load took, and each of its requests: pure arithmetic on a load's times.

Only what went over the network counts, and only what was not broken off: a browser gives requests
up by itself, and the end of one that failed is no last byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from httpbed.web.load.browser_load import BrowserLoad, PageRequest

Interval = tuple[float, float]
"""From when until when, in seconds since the navigation started."""


def fetched(load: BrowserLoad) -> tuple[PageRequest, ...]:
    """Return the requests whose answers came over the network, whole."""
    return tuple(one for one in load.on_network() if not one.failed and one.ended_s is not None)


def page_load_time_s(load: BrowserLoad) -> float | None:
    """Return when the last byte came; None where none did."""
    return max((one.ended_s for one in fetched(load) if one.ended_s is not None), default=None)


def network_page_load_time_s(load: BrowserLoad) -> float | None:
    """Return for how long at least one resource was under way, from queueing to its last byte.

    Biswal & Gnawali 2016, section 3.1: the time solely in network activity; where resources
    overlap, the time counts once, and the time in which only scripts ran does not count.
    """
    waits = [span for one in fetched(load) if (span := queued_until_whole(one))]
    return sum(end - start for start, end in merged(waits)) if waits else None


def queued_until_whole(request: PageRequest) -> Interval | None:
    """Return from when the page asked for a resource until its last byte."""
    return _interval(request.queued_s, request.ended_s)


def sent_until_whole(request: PageRequest) -> Interval | None:
    """Return from when the request was sent until the last byte."""
    return _interval(request.send_start_s, request.ended_s)


def sent_until_answered(request: PageRequest) -> Interval | None:
    """Return from when the request was sent until the answer's header was there.

    This is what Zhang & Song 2023 call the round-trip time; a server that has other answers to
    give first, or that has to think, makes it longer.
    """
    return _interval(request.send_start_s, request.headers_end_s)


def _interval(start: float | None, end: float | None) -> Interval | None:
    return None if start is None or end is None or end < start else (start, end)


def merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same moments as intervals that neither overlap nor touch, in order."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def wire_bytes(load: BrowserLoad) -> int:
    """Return the bytes of all answers, header and body, as they came; of broken ones, too."""
    return sum(one.wire_bytes for one in load.on_network())


def throughput(load: BrowserLoad) -> float | None:
    """Return the bytes of all whole answers over the page load time, in byte/s.

    Zhang & Song 2023, section 5: all received data over the time to receive the entire response.
    An answer that was broken off is in neither.
    """
    took_s = page_load_time_s(load)
    return sum(one.wire_bytes for one in fetched(load)) / took_s if took_s else None


def connections(load: BrowserLoad) -> int | None:
    """Return over how many connections it went; None where the browser did not tell of all."""
    over = [one.connection for one in load.on_network() if one.status]
    return len(set(over)) if over and all(over) else None


def lengths(
    requests: Sequence[PageRequest], of: Callable[[PageRequest], Interval | None]
) -> list[float | None]:
    """Return how long something took in each request."""
    spans = map(of, requests)
    return [None if span is None else span[1] - span[0] for span in spans]
