"""Firefox' events, of the form that version 153 sends, become those that a load is read from."""

from __future__ import annotations

from typing import Any

import pytest

from httpbed.addons.pages.load.browser_load import PageRequest
from httpbed.addons.pages.load.cdp_requests import RequestCollector
from httpbed.addons.pages.programs.builtin.browsers.bidi_events import Translator
from httpbed.addons.pages.programs.builtin.browsers.load_end import Watch

PAGE, FRAME = "0308ef3d", "37e075b6"
BEGAN_MS = 1_795_876_817_000.0
OFFSET_S = 100.0 - BEGAN_MS / 1000
"""The page is requested when the driver's clock shows 100 s."""
HOST = "https://server.httpbed.test"
TIMES = {
    "requestTime": 0.5,
    "fetchStart": 10.0,
    "dnsStart": 10.0,
    "dnsEnd": 10.1,
    "connectStart": 11.0,
    "connectEnd": 61.0,
    "tlsStart": 11.0,
    "requestStart": 62.0,
    "responseStart": 112.0,
    "responseEnd": 113.0,
}
OVER_AN_OPEN_CONNECTION = {"requestTime": 200.0, "requestStart": 201.0}
OVER_AN_OPEN_CONNECTION |= {"responseStart": 251.0, "responseEnd": 252.0}


def message(event: str, number: str, **about: Any) -> dict[str, Any]:
    """Write an event of the network."""
    times = about.pop("times", TIMES)
    request = {
        "request": number,
        "url": f"{HOST}{about.pop('path', '/')}",
        "method": "GET",
        "headers": [{"name": "Accept", "value": {"type": "string", "value": "*/*"}}],
        "destination": about.pop("destination", "document"),
        "timings": {name: ms and BEGAN_MS + ms for name, ms in times.items()},
    }
    params = {"context": PAGE, "navigation": "n1", "redirectCount": 0, "request": request}
    return {"method": f"network.{event}", "params": {**params, **about}}


def response(status: int = 200, protocol: str = "h3", **more: Any) -> dict[str, Any]:
    fields = [{"name": "alt-svc", "value": {"type": "string", "value": 'h3=":443"'}}]
    sizes = {"headersSize": 240, "bodySize": 693, "bytesReceived": 933}
    mime = {"mimeType": "text/html; charset=utf-8", "fromCache": False}
    return {"status": status, "protocol": protocol, "headers": fields, **sizes, **mime, **more}


def requests(*messages: dict[str, Any]) -> tuple[PageRequest, ...]:
    """Read what the messages say, as from the driver's file."""
    translator, collector = Translator(PAGE, OFFSET_S), RequestCollector()
    for one in messages:
        for event in translator.events(one):
            collector.take(event["method"], event["params"])
    return collector.requests(100.0)


def fetched(number: str = "1", **about: Any) -> list[dict[str, Any]]:
    """Write all events of a request that ends well."""
    answer = about.pop("response", response())
    sent = message("beforeRequestSent", number, **about)
    later = ("responseStarted", "responseCompleted")
    return [sent, *(message(event, number, **about, response=answer) for event in later)]


def test_a_request_has_its_times_and_sizes() -> None:
    (one,) = requests(*fetched())
    assert (one.url, one.kind, one.status, one.http_version) == (f"{HOST}/", "Document", 200, "3")
    assert one.mime_type == "text/html"
    assert one.response_headers == (("alt-svc", 'h3=":443"'),)
    assert (one.body_bytes, one.head_bytes) == (693, 0)
    times = (one.queued_s, one.started_s, one.connect_start_s, one.tls_end_s, one.headers_start_s)
    assert times == pytest.approx((0.0005, 0.010, 0.011, 0.061, 0.112), abs=1e-6)
    assert one.ended_s == pytest.approx(0.113, abs=1e-6)


def test_over_an_open_connection_nothing_is_connected() -> None:
    image = {"destination": "image", "path": "/a.png", "times": OVER_AN_OPEN_CONNECTION}
    one = requests(*fetched(), *fetched("2", **image))[1]
    assert (one.kind, one.connect_start_s) == ("Image", None)
    assert one.started_s == pytest.approx(0.201, abs=1e-6)


def test_headers_as_text_have_the_length_that_was_sent() -> None:
    """Over HTTP/1.1; compressed ones have another, which Firefox does not say."""
    (one,) = requests(*fetched(response=response(protocol="http/1.1")))
    assert (one.head_bytes, one.wire_bytes) == (240, 933)


def test_a_redirect_is_a_request_of_its_own() -> None:
    led = fetched(response=response(302), path="/old")
    first, second = requests(*led, *fetched(redirectCount=1, path="/new"))
    assert (first.status, first.redirected_to) == (302, f"{HOST}/new")
    assert (second.status, second.url) == (200, f"{HOST}/new")


def test_a_failure_has_its_reason() -> None:
    sent = message("beforeRequestSent", "1")
    (one,) = requests(sent, message("fetchError", "1", errorText="NS_ERROR_NET_RESET"))
    assert (one.status, one.failed) == (0, "NS_ERROR_NET_RESET")


def test_what_the_page_before_requested_is_none_of_this_load() -> None:
    font = message("beforeRequestSent", "0", destination="font", navigation=None)
    assert [request.id for request in requests(font, *fetched())] == ["1"]


def test_a_load_ends_when_its_requests_have_ended_and_it_fired() -> None:
    """By the same rule as Chromium's."""
    translator = Translator(PAGE, OFFSET_S)
    watch = Watch({"server.httpbed.test"}, "page", PAGE, 0.0)
    load = {"method": "browsingContext.load", "params": {"context": PAGE, "timestamp": BEGAN_MS}}
    in_frame = {"method": "browsingContext.load", "params": {"context": FRAME, "timestamp": 0}}
    committed = {"context": PAGE, "navigation": "n1", "url": HOST}
    moved = {"method": "browsingContext.navigationCommitted", "params": committed}
    for one in (*fetched(), moved, in_frame):
        for event in translator.events(one):
            watch.take(event["method"], event["params"], event["sessionId"], 1.0)
    assert watch.look(9.0) is None
    for event in translator.events(load):
        watch.take(event["method"], event["params"], event["sessionId"], 1.0)
    ending = watch.look(9.0)
    assert ending is not None
    assert ending.kind == "loaded"
