"""Observations of a page load: a value for each metric that the browser reports enough for.

Metrics of the whole page need a load that ended as loaded. A load that reached its time limit has
the metrics of events before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.experiment.metric import Observation

MAX_NAME = 200
"""Characters of a resource's name."""

_OF_EACH: Mapping[str, Callable[[PageRequest], timing.Interval | None]] = {
    "resource_time_to_first_byte": timing.sent_until_answered,
    "resource_time": timing.sent_until_whole,
    "resource_time_queued": timing.queued_until_whole,
}


def of_load(load: BrowserLoad) -> tuple[Observation, ...]:
    """Return the observations of a load."""
    values: list[Observation] = []
    if load.ended == "loaded":
        values = [*_of_page(load), *_of_browser(load)]
    elif load.ended == "time limit":
        values = [*_before_the_end(load)]
    return tuple(values + list(_of_resources(load)))


def _of_page(load: BrowserLoad) -> Iterator[Observation]:
    values = {
        "page_time_to_first_byte": timing.time_to_first_byte_s(load),
        "speed_index": _speed_index(load),
        "first_contentful_paint": load.first_contentful_paint_s,
        "largest_contentful_paint": load.largest_contentful_paint_s,
        "page_load_time": timing.page_load_time_s(load),
        "network_page_load_time": timing.network_page_load_time_s(load),
        "onload_time": load.onload_s,
        "page_throughput": timing.throughput(load),
        "page_bytes": timing.wire_bytes(load),
        "page_requests": len(load.on_network()),
        "page_connections": timing.connections(load),
    }
    yield from _observed(values)


def _before_the_end(load: BrowserLoad) -> Iterator[Observation]:
    yield from _observed(
        {
            "page_time_to_first_byte": timing.time_to_first_byte_s(load),
            "first_contentful_paint": load.first_contentful_paint_s,
            "onload_time": load.onload_s,
            "browser_ready_time": load.browser_ready_s,
        }
    )


def _of_browser(load: BrowserLoad) -> Iterator[Observation]:
    yield from _observed(
        {
            "browser_cpu": load.browser_cpu_s,
            "browser_ready_time": load.browser_ready_s,
            "browser_starts": load.browser_starts,
        }
    )


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
    requests = timing.fetched(load)
    took = {metric: timing.lengths(requests, of) for metric, of in _OF_EACH.items()}
    for number, (request, name) in enumerate(zip(requests, resource_names(requests), strict=True)):
        started = {"resource_start": request.send_start_s}
        yield from _observed(
            started | {metric: all_of[number] for metric, all_of in took.items()}, name
        )


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
