"""Real loads of Chromium, recorded with the server's log, are read completely."""

from __future__ import annotations

import json
from typing import Any

import pytest

from httpbed.addons.pages.load import driver_output, speed_index, timing
from httpbed.addons.pages.load.browser_load import PageRequest
from recorded import FOLDER

CHROMIUM = FOLDER / "chromium-headless-shell-156.0.8078.79"
VERSIONS = {"h1": "1.1", "h2": "2", "h3": "3"}
every_version = pytest.mark.parametrize("name", VERSIONS)


def logged() -> dict[str, list[dict[str, Any]]]:
    """Return nginx's log of the recorded loads, by protocol."""
    lines = (CHROMIUM / "nginx-access.jsonl").read_text().splitlines()
    by_version: dict[str, list[dict[str, Any]]] = {name: [] for name in VERSIONS}
    for line in map(json.loads, lines):
        by_version[f"h{line['protocol'].removeprefix('HTTP/')[0]}"].append(line)
    return by_version


@every_version
def test_a_real_load_is_read_completely(name: str) -> None:
    """Times are in order, connections are the server's, and the pictures show the page filling."""
    load = driver_output.read(CHROMIUM / name)
    assert (load.ended, load.reason, load.notes, load.title) == ("loaded", "", (), "A small page")
    first = load.requests[0]
    assert (first.kind, first.initiator_kind, first.url) == ("Document", "other", load.url)
    assert {request.initiator for request in load.requests[1:]} == {load.url}
    assert {request.status for request in load.requests} == {200}
    for request in load.requests:
        _is_in_order(request)
    assert load.first_contentful_paint_s is not None
    assert load.largest_contentful_paint_s is not None
    assert load.content_loaded_s is not None
    assert load.onload_s is not None
    assert 0 < load.first_contentful_paint_s <= load.largest_contentful_paint_s
    assert 0 < load.content_loaded_s <= load.onload_s
    assert 0 < (load.browser_ready_s or 0) < 2
    assert 0 < (load.browser_cpu_s or 0) < 5
    used = {request.connection for request in load.requests}
    assert len(used) == len({one["connection"] for one in logged()[name]})
    assert len(used) <= (6 if name == "h1" else 1)
    progress = speed_index.of_frames(load.frames)
    first_s = next(step.at_s for step in progress if step.complete > 0)
    assert load.first_contentful_paint_s == pytest.approx(first_s, abs=0.05)
    assert 0 < speed_index.speed_index(progress) < progress[-1].at_s


def _is_in_order(one: PageRequest) -> None:
    steps = (
        one.queued_s, one.started_s, one.dns_start_s, one.dns_end_s, one.connect_start_s,
        one.connect_end_s, one.send_start_s, one.send_end_s, one.headers_start_s,
        one.headers_end_s, one.ended_s,
    )  # fmt: skip
    reported = [step for step in steps if step is not None]
    assert reported == sorted(reported)
    assert reported[0] >= 0
    assert len(reported) >= 7


@every_version
def test_every_metric_of_a_real_load_is_observed(name: str) -> None:
    """There are seventeen; four of them for each resource, under its path."""
    result = timing.of_load(driver_output.read(CHROMIUM / name))
    values = {
        observation.metric: observation.value for observation in result if not observation.item
    }
    assert len(values) == 13
    assert 0 < values["page_time_to_first_byte"] < values["first_contentful_paint"]
    assert values["page_bytes"] == sum(one["wire_bytes"] for one in logged()[name])
    assert values["network_page_load_time"] <= values["page_load_time"]
    assert values["page_throughput"] == pytest.approx(
        values["page_bytes"] / values["page_load_time"]
    )
    each = {
        observation.item: observation.value
        for observation in result
        if observation.metric == "resource_time_to_first_byte"
    }
    assert set(each) == {one["path"] for one in logged()[name]}
    # 20 ms each way: no response comes earlier.
    assert min(each.values()) >= 0.04
    queued = {
        observation.item: observation.value
        for observation in result
        if observation.metric == "resource_time_queued"
    }
    for observation in result:
        if observation.metric == "resource_time":
            assert observation.value <= queued[observation.item]


@pytest.mark.parametrize("visit", ["first", "second"])
def test_redirects_caches_and_errors_of_a_real_page(visit: str) -> None:
    """A page behind a redirect, loaded twice: browser and server agree.

    In the second load the redirect, a picture and a style come from the cache, two pictures are
    revalidated (304), and the page itself may not be cached. One picture is missing (404), one is
    inline, and one has an unknown host.
    """
    folder = CHROMIUM / "again" / visit
    load = driver_output.read(folder)
    answered = json.loads((folder / "answered.json").read_text())
    fetched = [
        ("/redir" if request.status == 301 else request.url.removeprefix("http://127.0.0.1:8000"),
         request.status, request.wire_bytes)
        for request in load.on_network() if not request.failed
    ]  # fmt: skip
    assert sorted(fetched) == sorted(map(tuple, answered))
    assert [request.failed for request in load.on_network() if request.failed] == [
        "net::ERR_NAME_NOT_RESOLVED"
    ]
    cached = [request.url.rpartition("/")[2] for request in load.requests if request.from_cache]
    assert cached == (["", "p.svg", "c.css", "m.svg"] if visit == "second" else [])
    assert sorted({request.status for request in load.requests if not request.failed}) == (
        [200, 301, 304, 404] if visit == "second" else [200, 301, 404]
    )
