"""From a load to observations: one value per metric that could be taken.

What is of the whole page is told only of a load that ended as loaded: half a page is no quick one.
Of one that reached its time limit it is told what was over before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from httpbed.experiment.metric import Observation
from httpbed.web.load import timing
from httpbed.web.load.browser_load import BrowserLoad, PageRequest

MOST_NAME = 200
"""Characters of a resource's name."""

_OF_EACH: Mapping[str, Callable[[PageRequest], timing.Interval | None]] = {
    "resource_time_to_first_byte": timing.sent_until_answered,
    "resource_time": timing.sent_until_whole,
    "resource_time_queued": timing.queued_until_whole,
}


def of_load(load: BrowserLoad) -> tuple[Observation, ...]:
    """Take every metric of a load that its browser told enough for."""
    found: list[Observation] = []
    if load.ended == "loaded":
        found = [*_of_page(load), *_of_browser(load)]
    elif load.ended == "time limit":
        found = [*_before_the_end(load)]
    return tuple(found + list(_of_resources(load)))


def _of_page(load: BrowserLoad) -> Iterator[Observation]:
    values = {
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
    yield from _told(values)


def _before_the_end(load: BrowserLoad) -> Iterator[Observation]:
    yield from _told(
        {
            "first_contentful_paint": load.first_contentful_paint_s,
            "onload_time": load.onload_s,
            "browser_ready_time": load.browser_ready_s,
        }
    )


def _of_browser(load: BrowserLoad) -> Iterator[Observation]:
    yield from _told(
        {
            "browser_cpu": load.browser_cpu_s,
            "browser_ready_time": load.browser_ready_s,
            "browser_starts": load.browser_starts,
        }
    )


def _told(values: Mapping[str, float | None], item: str = "") -> Iterator[Observation]:
    for metric, value in values.items():
        if value is not None:
            yield Observation(metric=metric, value=value, source="client", item=item)


def _speed_index(load: BrowserLoad) -> float | None:
    # Reading recipes needs the names of readers only; pictures need numpy, 0.2 s to import.
    from httpbed.web.load import speed_index  # noqa: PLC0415
    from httpbed.web.load.screenshots import PictureError  # noqa: PLC0415

    with suppress(PictureError):
        if progress := speed_index.of_load(load):
            return speed_index.speed_index(progress)
    return None


def _of_resources(load: BrowserLoad) -> Iterator[Observation]:
    requests = timing.fetched(load)
    took = {metric: timing.lengths(requests, of) for metric, of in _OF_EACH.items()}
    for number, (request, name) in enumerate(zip(requests, resource_names(requests), strict=True)):
        started = {"resource_start": request.send_start_s}
        yield from _told(
            started | {metric: all_of[number] for metric, all_of in took.items()}, name
        )


def resource_names(requests: Sequence[PageRequest]) -> list[str]:
    """Name resources: by path on the first one's origin, else with their host.

    What is fetched again has a number added, so that no two have the same name.
    """
    seen = Counter[str]()
    own = requests[0].authority if requests else ""
    given = []
    for request in requests:
        host, path = request.authority, request.path
        name = (path if host == own else f"//{host}{path}")[:MOST_NAME]
        seen[name] += 1
        given.append(f"{name}, {seen[name]}" if seen[name] > 1 else name)
    return given
