"""The files of the browser driver: real loads of Chromium, and hostile content."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from httpbed.addons.pages.load import driver_output, speed_index, timing
from httpbed.addons.pages.load.browser_load import BrowserLoad
from recorded import FOLDER

CHROMIUM = FOLDER / "chromium-headless-shell-156.0.8078.79"
VERSIONS = {"h1": "1.1", "h2": "2", "h3": "3"}
URL = "https://site.test/"
SAID = {
    "schema": 1, "url": URL, "ended": "loaded", "began_ns": 1_000_000_000,
    "navigated_ns": 9_900_000_000, "cpu_s": 0.5,
}  # fmt: skip
every_version = pytest.mark.parametrize("name", VERSIONS)
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def event(method: str, at_s: float | None = None, **params: Any) -> dict[str, Any]:
    """Return an event of the document's request, or of another one."""
    reported = {"requestId": "D", "loaderId": "D", **params}
    return {"method": method, "params": reported | ({} if at_s is None else {"timestamp": at_s})}


def sent(at_s: float, url: str = URL, **params: Any) -> dict[str, Any]:
    about = {"type": "Document", "request": {"url": url, "method": "GET"}} | params
    return event("Network.requestWillBeSent", at_s, **about)


def received(at_s: float, status: int = 200, **response: Any) -> dict[str, Any]:
    about = {"status": status, "protocol": "h2", **response}
    return event("Network.responseReceived", at_s, response=about, hasExtraInfo=False)


def finished(at_s: float, wire_bytes: int = 100, **params: Any) -> dict[str, Any]:
    """Return the event of a request's end."""
    return event("Network.loadingFinished", at_s, encodedDataLength=wire_bytes, **params)


def left(folder: Path, *events: Any, stated: Mapping[str, Any] = SAID) -> BrowserLoad:
    (folder / "load.json").write_text(json.dumps(stated))
    (folder / "cdp.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    return driver_output.read(folder)


def test_redirects_are_requests_of_their_own(tmp_path: Path) -> None:
    """Each has its status, its end and its target; the page's own is the last."""
    there = f"{URL}there"
    load = left(
        tmp_path,
        sent(10.0),
        event("Network.responseReceivedExtraInfo", statusCode=301, headers={"location": "/there"}),
        sent(
            10.2,
            there,
            redirectResponse={"status": 301, "encodedDataLength": 77},
            redirectHasExtraInfo=True,
        ),
        event("Network.responseReceivedExtraInfo", statusCode=200, headers={"x": "a\nb"}),
        event("Network.responseReceived", 10.3, response={"status": 200}, hasExtraInfo=True),
        finished(10.5, 500),
    )
    assert [(request.id, request.url, request.status) for request in load.requests] == [
        ("D", URL, 301),
        ("D-1", there, 200),
    ]
    first, last = load.requests
    assert (first.redirected_to, first.wire_bytes) == (there, 77)
    assert first.ended_s == pytest.approx(0.2)
    assert first.response_headers == (("location", "/there"),)
    assert last.response_headers == (("x", "a"), ("x", "b"))
    assert last.ended_s == pytest.approx(0.5)


def test_an_aborted_request_has_the_received_bytes(tmp_path: Path) -> None:
    """Its header, and the received pieces of its body."""
    load = left(
        tmp_path,
        sent(10.0),
        received(10.1, encodedDataLength=100),
        event("Network.dataReceived", 10.2, dataLength=3000, encodedDataLength=1000),
        event("Network.loadingFailed", 10.4, errorText="net::ERR_CONNECTION_RESET"),
    )
    (one,) = load.requests
    assert (one.failed, one.wire_bytes, one.body_bytes) == ("net::ERR_CONNECTION_RESET", 1100, 3000)


@pytest.mark.parametrize(
    ("kind", "ended_bytes", "is_left", "wire_bytes"),
    [
        ("Image", 1000, True, 1118),
        ("Image", 1127, False, 1127),
        ("Script", 1000, False, 1000),
    ],
)
def test_an_image_that_is_not_decoded_has_the_bytes_that_were_read(
    tmp_path: Path, kind: str, ended_bytes: int, is_left: bool, wire_bytes: int
) -> None:
    """Chromium ends it with the length of its body; over HTTP/3 no piece has a length on the wire.

    As recorded of a broken image, and of one that is whole.
    """
    load = left(
        tmp_path,
        sent(10.0, type=kind),
        received(10.1, encodedDataLength=118),
        event(
            "Network.dataReceived",
            10.2,
            dataLength=1000,
            encodedDataLength=0 if is_left else 1009,
        ),
        finished(10.2, ended_bytes),
    )
    (one,) = load.requests
    assert (one.is_left, one.wire_bytes) == (is_left, wire_bytes)


def test_a_frame_of_another_origin_is_part_of_the_page(tmp_path: Path) -> None:
    """Its load event is not the page's; its request, reported in two sessions, counts once."""
    frame = {"requestId": "F", "loaderId": "F"}
    its = {"sessionId": "frame"}
    load = left(
        tmp_path,
        sent(10.0),
        sent(10.1, "https://other.test/", **frame),
        sent(10.1, "https://other.test/", **frame) | its,
        event("Page.loadEventFired", 10.2) | its,
        event("Page.loadEventFired", 10.9),
    )
    assert [request.url for request in load.requests] == [URL, "https://other.test/"]
    assert load.onload_s == pytest.approx(0.9)


def mark(name: str, at_us: float, navigation: str) -> dict[str, Any]:
    return {"name": name, "ts": at_us, "args": {"data": {"navigationId": navigation}, "frame": "F"}}


def test_marks_of_a_script_do_not_count(tmp_path: Path) -> None:
    """They have any name, time and detail, and the same navigation, but no frame of their own."""
    names = ("navigationStart", "firstContentfulPaint", "largestContentfulPaint::Candidate")
    true = [mark(name, at_us, "D") for name, at_us in zip(names, (10e6, 11e6, 12e6), strict=True)]
    forged = [
        {"name": name, "ts": at_us, "args": {"data": {"navigationId": "D", "detail": "frame"}}}
        for name in names
        for at_us in (10.001e6, 99e6)
    ]
    both = [*forged, *true, *forged]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(one) + "\n" for one in both))
    load = left(tmp_path, sent(10.1), event("Page.loadEventFired", 10.9))
    assert load.navigation_ns == 10**10
    assert load.first_contentful_paint_s == pytest.approx(1.0)
    assert load.largest_contentful_paint_s == pytest.approx(2.0)


def test_events_of_the_page_before_do_not_count(tmp_path: Path) -> None:
    """An empty page fires its load event late, and its paints belong to another navigation."""
    stated = [
        mark("navigationStart", 8e6, "old"),
        mark("navigationStart", 10e6, "D"),
        mark("firstContentfulPaint", 9e6, "old"),
        mark("firstContentfulPaint", 11e6, "D"),
    ]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(one) + "\n" for one in stated))
    load = left(tmp_path, sent(10.1), event("Page.loadEventFired", 9.9))
    assert load.onload_s is None
    assert load.navigation_ns == 10**10
    assert load.first_contentful_paint_s == pytest.approx(1.0)
    assert load.requests[0].queued_s == pytest.approx(0.1)


def test_without_a_trace_the_lifecycle_event_gives_the_paint(tmp_path: Path) -> None:
    """The navigation then begins with the document's request."""
    painted = event("Page.lifecycleEvent", 10.7, name="firstContentfulPaint")
    load = left(tmp_path, sent(10.0), painted)
    assert load.first_contentful_paint_s == pytest.approx(0.7)
    assert load.largest_contentful_paint_s is None


def test_too_many_requests_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may send requests forever."""
    monkeypatch.setattr("httpbed.addons.pages.load.cdp_requests.MAX_REQUESTS", 10)
    load = left(tmp_path, *(sent(10.0, requestId=f"{number}") for number in range(15)))
    assert len(load.requests) == 10
    assert load.notes == ("5 further requests are dropped",)


def test_responses_without_requests_displace_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any number of responses without requests keeps no request from being read."""
    monkeypatch.setattr("httpbed.addons.pages.load.cdp_requests.MAX_REQUESTS", 10)
    strays = [
        event("Network.responseReceivedExtraInfo", requestId=f"X{at}", statusCode=200)
        for at in range(20)
    ]
    load = left(tmp_path, *strays, sent(10.0), received(10.1), finished(10.2))
    assert [(request.url, request.status) for request in load.requests] == [(URL, 200)]
    assert load.notes == ()


def test_dialogs_are_read(tmp_path: Path) -> None:
    """Their messages are cut."""
    stated = SAID | {"dialogs": [{"type": "alert", "message": "<script>" * 1000}, 7]}
    ((kind, message),) = left(tmp_path, stated=stated).dialogs
    assert kind == "alert"
    assert len(message) == 500


def test_a_visit_before_counts_neither_as_start_nor_as_cpu_time(tmp_path: Path) -> None:
    """For all visits the times mean the same, except on the client's clock."""
    more = {"started_ns": 0, "before_ns": 5_000_000_000, "before_cpu_s": 0.2}
    load = left(tmp_path, sent(10.0), stated=SAID | more)
    assert load.browser_ready_s == pytest.approx(3.9)
    assert load.browser_cpu_s == pytest.approx(0.3)
    assert load.navigated_s == pytest.approx(9.9)


def test_a_forbidden_request_does_not_count(tmp_path: Path) -> None:
    """The browser did not send it."""
    icon = sent(10.1, f"{URL}favicon.ico", type="Other", requestId="icon")
    blocked = {"errorText": "net::ERR_BLOCKED_BY_CLIENT", "blockedReason": "inspector"}
    ended = event("Network.loadingFailed", 10.1, requestId="icon", **blocked)
    load = left(tmp_path, sent(10.0), finished(10.2), icon, ended)
    assert [request.url for request in load.requests] == [URL]


def test_a_load_without_its_last_pictures_has_no_speed_index(tmp_path: Path) -> None:
    """Requests are complete; only the screen is unknown."""
    whole = left(tmp_path, sent(10.0), stated=SAID)
    assert whole.remarks == ()
    (tmp_path / "frames.jsonl").write_text('{"ts": 17e6, "file": "frames/0001.jpg"}\n')
    more = {"pictures_cut": True, "trace_cut": True, "notes": ["after the load: no answer", 7]}
    load = left(tmp_path, sent(10.0), stated=SAID | more)
    assert load.pictures_end_s == pytest.approx(7.0)
    assert load.notes == ()
    assert load.remarks == (
        "the pictures end at 7.00 s, so there is no Speed Index",
        "the trace is cut off, so there is no Largest Contentful Paint",
        "after the load: no answer",
    )
    reported = {observation.metric for observation in timing.of_load(load)}
    assert "page_requests" in reported
    assert not reported & {"speed_index", "largest_contentful_paint"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "left no load.json"),
        ("", "unreadable"),
        ("[" * 100_000, "unreadable"),
        ("[]", "not have schema 1"),
        ('{"schema": 2}', "not have schema 1"),
        ('{"schema": 1}', "ended as ''"),
        ('{"schema": 1, "ended": ["loaded"]}', "ended as ''"),
        ('{"schema": 1, "ended": "splendid"}', "ended as 'splendid'"),
        ("x" * (driver_output.MAX_LOAD_BYTES + 1), "longer than"),
    ],
)
def test_a_folder_without_a_load_is_refused(tmp_path: Path, text: str | None, why: str) -> None:
    """Whatever else is in its place."""
    if text is not None:
        (tmp_path / "load.json").write_text(text)
    with pytest.raises(driver_output.LoadError, match=why):
        driver_output.read(tmp_path)


def test_no_link_and_no_pipe_is_followed(tmp_path: Path) -> None:
    """A link or pipe counts as missing, and is noted."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "0001.jpg").write_bytes(b"secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "load.json").write_text(json.dumps(SAID))
    (inside / "cdp.jsonl").symlink_to(outside / "0001.jpg")
    os.mkfifo(inside / "frames.jsonl")
    load = driver_output.read(inside)
    assert load.requests == ()
    assert len(load.notes) == 2
    (inside / "frames.jsonl").unlink()
    (inside / "frames").symlink_to(outside)
    names = ["frames/0001.jpg", "../outside/0001.jpg", "/etc/passwd", "frames/../../outside/1.jpg"]
    lines = [json.dumps({"ts": 99e6, "file": name}) for name in names]
    (inside / "frames.jsonl").write_text("\n".join(lines))
    (frame,) = driver_output.read(inside).frames
    with pytest.raises(speed_index.PictureError):
        speed_index.read(frame.file)


@given(
    st.lists(
        st.builds(
            lambda method, params, more: {"method": method, "params": {**params, **more}},
            st.sampled_from(
                [
                    f"Network.{one}"
                    for one in (
                        "requestWillBeSent", "requestWillBeSentExtraInfo", "responseReceived",
                        "responseReceivedExtraInfo", "requestServedFromCache", "dataReceived",
                        "loadingFinished", "loadingFailed",
                    )
                ] + ["Page.loadEventFired", "Page.lifecycleEvent"]
            ),
            st.fixed_dictionaries({"requestId": st.sampled_from(["D", "2"]) | jsons}),
            st.dictionaries(
                st.sampled_from(
                    [
                        "request", "response", "redirectResponse", "timestamp", "type", "headers",
                        "initiator", "loaderId", "statusCode", "encodedDataLength", "dataLength",
                    ]
                ),
                jsons | st.fixed_dictionaries({"timing": jsons, "headers": jsons, "url": jsons}),
            ),
        )
        | jsons,
        max_size=8,
    ),
    st.dictionaries(
        st.sampled_from([*SAID, "dialogs", "title", "truncated", "notes", "pictures_cut"]), jsons
    ),
)  # fmt: skip
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_arbitrary_events_give_a_load_or_a_load_error(
    tmp_path: Path, events: list[Any], more: dict[str, Any]
) -> None:
    """Any event in any form gives a load or a LoadError."""
    try:
        load = left(tmp_path, *events, stated=SAID | more)
    except driver_output.LoadError:
        return
    timing.of_load(load)
    repr(load).encode()
