"""Times of a load: intervals are merged, and only complete responses count."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

A_SITE = "https://site.test"
moments = st.integers(0, 60)
spans = st.lists(st.tuples(moments, moments).map(lambda two: (float(min(two)), float(max(two)))))


def resource(path: str, queued_s: float, ended_s: float | None, **more: object) -> PageRequest:
    known = {"status": 200, "connection": "1"} | more
    return PageRequest(
        path, f"{A_SITE}{path}", queued_s=queued_s, ended_s=ended_s, **known,  # type: ignore[arg-type]
    )  # fmt: skip


def load(*requests: PageRequest) -> BrowserLoad:
    return BrowserLoad(f"{A_SITE}/", "loaded", requests=requests)


def covered(intervals: list[timing.Interval]) -> set[int]:
    return {at for start, end in intervals for at in range(int(start), int(end))}


@given(spans)
def test_merged_intervals_cover_the_same_and_nothing_twice(
    given_spans: list[timing.Interval],
) -> None:
    """Counting whole units gives the same, and no two results touch."""
    result = timing.merged(given_spans)
    assert covered(result) == covered(given_spans)
    assert sum(end - start for start, end in result) == len(covered(given_spans))
    assert all(before[1] < after[0] for before, after in pairwise(result))


@given(spans)
def test_network_time_is_within_the_page_load_time(given_spans: list[timing.Interval]) -> None:
    """It is at least the longest resource's time, and at most the sum of all."""
    result = load(*(resource(f"/{at}", *span) for at, span in enumerate(given_spans)))
    network_s, whole_s = timing.network_page_load_time_s(result), timing.page_load_time_s(result)
    if network_s is None or whole_s is None:
        assert not given_spans
        return
    took = [end - start for start, end in given_spans]
    assert max(took) <= network_s <= min(sum(took), whole_s)


def test_biswals_figure_2() -> None:
    """HTML, style and picture count; the script's fetch is within the style's."""
    result = load(
        resource("/", 0.0, 0.2),
        resource("/style.css", 0.25, 0.5),
        resource("/script.js", 0.3, 0.4),
        resource("/picture.jpg", 0.9, 1.3),
    )
    assert timing.network_page_load_time_s(result) == pytest.approx(0.2 + 0.25 + 0.4)
    assert timing.page_load_time_s(result) == 1.3


def test_zhang_and_songs_round_trip_time() -> None:
    """Their figure 8: sendStart 5.237 ms, receiveHeadersEnd 17.017 ms."""
    one = resource("/", 0.0, 0.02, send_start_s=0.005237, headers_end_s=0.017017)
    values = {each.metric: each.value for each in timing.of_load(load(one))}
    assert values["resource_time_to_first_byte"] == pytest.approx(0.01178)


def test_failed_and_cached_requests_have_no_last_byte() -> None:
    """A cached picture, an inline one, and an aborted one."""
    result = load(
        resource("/", 0.0, 0.2, wire_bytes=900),
        resource("/cached.jpg", 0.3, 5.0, from_cache=True, wire_bytes=0),
        resource("/broken.jpg", 0.3, 9.0, failed="net::ERR_ABORTED", wire_bytes=100),
        PageRequest("5", "data:image/gif;base64,R0lGODlhAQABAAAAACw=", queued_s=0.1, ended_s=7.0),
    )
    assert timing.page_load_time_s(result) == 0.2
    assert timing.network_page_load_time_s(result) == pytest.approx(0.2)
    assert timing.wire_bytes(result) == 1000
    assert timing.throughput(result) == pytest.approx(900 / 0.2)


def test_connections_are_counted_only_if_all_are_known() -> None:
    """A browser may omit some; a request without a response has none."""
    one, two = resource("/", 0, 1, connection="7"), resource("/a", 0, 1, connection="8")
    unanswered = resource("/b", 0, 1, status=0, connection="")
    assert timing.connections(load(one, two, two, unanswered)) == 2
    assert timing.connections(load(one, resource("/c", 0, 1, connection=""))) is None


def test_an_end_before_its_start_gives_no_interval() -> None:
    """Clocks of a browser's processes may differ; negative times are never reported."""
    backwards = resource("/", 2.0, 1.0)
    assert timing.queued_until_whole(backwards) is None
    metrics = {observation.metric for observation in timing.of_load(load(backwards))}
    assert not metrics & {"resource_time", "resource_time_queued"}
