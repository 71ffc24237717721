"""The critical path: which resources are on it, and what each step was spent on."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.pages.load import critical_path, driver_output
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.load.critical_path import CriticalPath, paint_parts
from page_campaigns import RECORDED

PAGE = "https://a.test/"
ROUND_TRIP_S, RATE = 0.1, 8e6  # a byte takes a microsecond


def request(name: str, asked: float, ended: float, **more: Any) -> PageRequest:
    """Return a request that is sent at once, whose body begins after one round trip."""
    settings = {
        "kind": "Image",
        "queued_s": asked,
        "send_start_s": asked,
        "send_end_s": asked,
        "headers_start_s": min(ended, asked + ROUND_TRIP_S),
        "headers_end_s": min(ended, asked + ROUND_TRIP_S),
        "initiator": PAGE,
        "status": 200,
        **more,
    }
    return PageRequest(id=name, url=PAGE + name, ended_s=ended, **settings)


DOCUMENT = request("", 0.0, 0.15, kind="Document", initiator="", wire_bytes=50_000)


def path_of(*requests: PageRequest, **load: Any) -> CriticalPath:
    settings = {"largest_contentful_paint_s": 1.0, **load}
    of = BrowserLoad(PAGE, "loaded", requests=(DOCUMENT, *requests), **settings)
    found = critical_path.critical_path(of, round_trip_s=ROUND_TRIP_S, rate_bit_s=RATE)
    assert found is not None
    ends = [(step.begin_s, step.end_s) for step in found.steps]
    assert ends[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(ends))
    assert math.isclose(sum(found.shares().values()), found.whole_s)
    return found


def names(found: CriticalPath) -> list[str]:
    return [one.id for one in found.requests]


def top(found: CriticalPath) -> tuple[str, str]:
    step, _ = found.causes()[0]
    return step.what, step.share


def test_a_stylesheet_that_is_awaited_is_on_the_path_and_its_server_too() -> None:
    style = request("s.css", 0.15, 0.9, kind="Stylesheet", render_blocking="Blocking",
                    headers_end_s=0.9, headers_start_s=0.9)  # fmt: skip
    image = request("i.png", 0.15, 0.4)
    found = path_of(style, image, largest_image_s=(0.15, 0.4))
    assert names(found) == ["", "s.css"]
    assert top(found) == ("waiting", "waiting")
    assert found.shares()["waiting"] == pytest.approx(0.65)


def test_an_image_that_arrives_after_all_that_blocks_is_on_the_path() -> None:
    style = request("s.css", 0.15, 0.3, kind="Stylesheet", render_blocking="Blocking")
    image = request("i.png", 0.15, 0.9, wire_bytes=650_000)
    found = path_of(style, image, largest_image_s=(0.15, 0.9))
    assert names(found) == ["", "i.png"]
    assert top(found) == ("own bytes at the link's rate", "network")
    assert found.steps[-1].what == "after its last byte"
    assert found.steps[-1].lasts_s == pytest.approx(0.1)


def test_of_images_that_arrive_together_the_one_that_began_with_the_painted_one_is_meant() -> None:
    """The browser rounds to 0.1 ms; the other one's end is nearer by 34 us."""
    other = request("o.png", 0.132868, 0.893212)
    image = request("i.png", 0.133062, 0.893246)
    assert names(path_of(other, image, largest_image_s=(0.1331, 0.8932))) == ["", "i.png"]


def test_a_chain_of_scripts_is_followed_by_what_arrived_last() -> None:
    first = request("a.js", 0.15, 0.3, kind="Script", render_blocking="NonBlocking")
    data = request("d.json", 0.31, 0.5, kind="Fetch", initiator=PAGE + "a.js")
    image = request("i.png", 0.52, 0.9, initiator=PAGE + "a.js")
    found = path_of(first, data, image, largest_image_s=(0.52, 0.9))
    assert names(found) == ["", "a.js", "d.json", "i.png"]
    waits = [s.lasts_s for s in found.steps if s.what == "until it asked for the next"]
    assert waits == pytest.approx([0.01, 0.02])


def test_while_the_document_arrives_nothing_else_makes_the_browser_ask() -> None:
    slow = request("", 0.0, 0.8, kind="Document", initiator="", wire_bytes=700_000)
    script = request("a.js", 0.15, 0.3, kind="Script", render_blocking="NonBlocking")
    image = request("i.png", 0.5, 0.9)
    of = BrowserLoad(PAGE, "loaded", requests=(slow, script, image),
                     largest_contentful_paint_s=1.0, largest_image_s=(0.5, 0.9))  # fmt: skip
    found = critical_path.critical_path(of, round_trip_s=ROUND_TRIP_S, rate_bit_s=RATE)
    assert found is not None
    assert names(found) == ["", "i.png"]


def test_the_link_carries_other_responses_first() -> None:
    """Others have 500 kB in the second half second: half of the link's time."""
    other = request("o.png", 0.15, 0.74, wire_bytes=500_000)
    image = request("i.png", 0.15, 0.75, wire_bytes=20_000)
    found = path_of(other, image, largest_image_s=(0.15, 0.75))
    assert top(found) == ("behind other responses", "priorities")
    assert found.shares()["priorities"] == pytest.approx(0.48, abs=0.03)
    step, _ = found.causes()[0]
    assert step.behind == other


def test_a_header_that_arrives_with_its_body_does_not_make_the_server_slow() -> None:
    """The header is in one TLS record with 16 kB of body, which take their time on the link."""
    image = request("i.png", 0.15, 0.9, headers_end_s=0.45, wire_bytes=650_000)
    found = path_of(image, largest_image_s=(0.15, 0.9))
    assert found.shares()["waiting"] == pytest.approx(0)
    late = request("i.png", 0.15, 0.9, headers_end_s=0.45, wire_bytes=450_000)
    assert path_of(late, largest_image_s=(0.15, 0.9)).shares()["waiting"] == pytest.approx(0.2)


def test_a_connection_that_sends_other_responses_slowly_is_no_slow_server() -> None:
    """Its window is small: the link would have carried both bodies in a few milliseconds."""
    other = request("o.png", 0.15, 0.75, wire_bytes=5_000, connection="1")
    image = request("i.png", 0.15, 0.9, headers_end_s=0.75, wire_bytes=5_000, connection="1")
    found = path_of(other, image, largest_image_s=(0.15, 0.9))
    assert top(found) == ("slower than the link", "network")
    assert found.shares()["waiting"] == pytest.approx(0)
    alone = request("i.png", 0.15, 0.9, headers_end_s=0.75, wire_bytes=5_000, connection="2")
    assert top(path_of(other, alone, largest_image_s=(0.15, 0.9))) == ("waiting", "waiting")


def test_the_path_may_lead_to_another_moment() -> None:
    image = request("i.png", 0.15, 0.9)
    of = BrowserLoad(PAGE, "loaded", requests=(DOCUMENT, image), onload_s=0.95,
                     largest_contentful_paint_s=0.5)  # fmt: skip
    known = {"round_trip_s": ROUND_TRIP_S, "rate_bit_s": RATE}
    last = critical_path.critical_path(of, goal="page_load_time", **known)
    assert last is not None
    assert (last.goal, last.whole_s) == ("page_load_time", 0.9)
    event = critical_path.critical_path(of, goal="onload_time", **known)
    assert event is not None
    assert (event.goal, event.whole_s) == ("onload_time", 0.95)


def test_a_request_that_the_browser_held_back_queues() -> None:
    image = request("i.png", 0.15, 0.95, send_start_s=0.7, send_end_s=0.7, headers_end_s=0.8)
    found = path_of(image, largest_image_s=(0.7, 0.95))
    assert found.shares()["queueing"] == pytest.approx(0.55)


def test_a_script_that_computes_is_the_browsers_time() -> None:
    script = request("a.js", 0.15, 0.3, kind="Script", render_blocking="NonBlocking")
    image = request("i.png", 0.8, 0.95, initiator=PAGE + "a.js")
    found = path_of(script, image, largest_image_s=(0.8, 0.95))
    assert found.shares()["browser"] == pytest.approx(0.55)


def test_a_redirect_is_on_the_path_of_its_document() -> None:
    old = request("old", 0.0, 0.1, kind="Document", initiator="", redirected_to=PAGE)
    new = request("", 0.1, 0.25, kind="Document", initiator="")
    of = BrowserLoad(PAGE, "loaded", requests=(old, new), first_contentful_paint_s=0.3)
    found = critical_path.critical_path(of, round_trip_s=ROUND_TRIP_S, rate_bit_s=None)
    assert found is not None
    assert names(found) == ["old", ""]
    assert found.goal == "first_contentful_paint"


def test_requests_that_name_each_other_end_the_path() -> None:
    """A page writes the events: a circle must not be followed for ever."""
    one = request("a.js", 0.2, 0.5, kind="Script", initiator=PAGE + "b.js")
    other = request("b.js", 0.2, 0.5, kind="Script", initiator=PAGE + "a.js")
    path_of(one, other, largest_contentful_paint_s=None, onload_s=0.6)


def test_a_load_that_fetched_nothing_has_no_path() -> None:
    failed = BrowserLoad(PAGE, "refused", requests=())
    assert critical_path.critical_path(failed, round_trip_s=0.1, rate_bit_s=None) is None
    assert paint_parts(failed) is None


def test_the_four_parts_add_up_to_the_paint() -> None:
    image = request("i.png", 0.4, 0.9, send_start_s=0.5)
    of = BrowserLoad(PAGE, "loaded", requests=(DOCUMENT, image),
                     largest_contentful_paint_s=1.0, largest_image_s=(0.5, 0.9))  # fmt: skip
    parts = paint_parts(of)
    assert parts is not None
    assert list(parts.values()) == pytest.approx([0.1, 0.4, 0.4, 0.1])
    text = paint_parts(BrowserLoad(PAGE, "loaded", requests=(DOCUMENT,),
                                   largest_contentful_paint_s=0.5))  # fmt: skip
    assert text is not None
    assert list(text.values()) == pytest.approx([0.1, 0, 0, 0.4])


@pytest.mark.parametrize("version", ["h1", "h2", "h3"])
def test_a_recorded_load_has_its_largest_image_on_the_path(version: str) -> None:
    load = driver_output.read(Path(RECORDED) / version)
    found = critical_path.critical_path(load, round_trip_s=0.05, rate_bit_s=10e6)
    assert found is not None
    assert [one.path for one in found.requests] == ["/index.html", "/i/1.jpeg"]
    parts = paint_parts(load)
    assert parts is not None
    assert sum(parts.values()) == pytest.approx(load.largest_contentful_paint_s)
