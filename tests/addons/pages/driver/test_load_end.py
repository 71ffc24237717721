"""When a load is over, and how it ended, from events alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.pages.programs.builtin.browsers import load_end
from httpbed.addons.pages.programs.builtin.browsers.load_end import IDLE_S, Watch

RECORDED = Path(__file__).parents[3] / "recorded/chromium-headless-shell-156.0.8078.79"
PAGE, TARGET = "page-session", "page-target"
NOW_S = 1.8e9
Feed = Callable[..., None]


def watch(*, file_only: bool = False) -> Watch:
    return Watch(["a.test"], PAGE, TARGET, NOW_S, file_only)


def requested(
    of: Watch, number: str, url: str = "https://a.test/", kind: str = "Document", **more: Any
) -> None:
    stated = {"requestId": number, "type": kind, "request": {"url": url}, **more}
    of.take("Network.requestWillBeSent", stated, PAGE, 1.0)


def committed(of: Watch, loader: str, url: str = "https://a.test/", **more: Any) -> None:
    """Report a shown document."""
    frame = {"loaderId": loader, "url": url, **more}
    of.take("Page.frameNavigated", {"frame": frame}, PAGE, 1.0)


def ended(of: Watch, now_s: float = 1.0) -> tuple[str, str] | None:
    ending = of.look(now_s)
    return (ending.kind, ending.reason) if ending else None


@pytest.mark.parametrize("version", ["h1", "h2", "h3"])
def test_recorded_loads_end_with_their_last_event(version: str) -> None:
    """The load is over half a second after the last request, not before."""
    reported = json.loads((RECORDED / version / "load.json").read_text())
    lines = (RECORDED / version / "cdp.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    of = Watch(["server.httpbed.test"], events[0]["sessionId"], "", NOW_S)
    at_s = 0.0
    for event in events:
        at_s = event["params"].get("timestamp", at_s)
        assert of.look(at_s) is None
        of.take(event["method"], event["params"], event.get("sessionId", ""), at_s)
    assert of.due() == pytest.approx(reported["ended_ns"] / 1e9, abs=0.05)
    assert ended(of, of.due() - 0.001) is None
    assert ended(of, of.due()) == ("loaded", "")


def test_idle_begins_when_the_last_request_is_over() -> None:
    """Neither the load event alone nor an idle network before it ends the load."""
    of = watch()
    requested(of, "1")
    of.take("Network.loadingFinished", {"requestId": "1"}, PAGE, 2.0)
    assert ended(of, 9.0) is None
    requested(of, "2", kind="Fetch")
    of.take("Page.loadEventFired", {}, PAGE, 3.0)
    assert of.due() == float("inf")
    of.take("Network.loadingFailed", {"requestId": "2"}, "a-worker", 4.0)
    assert of.due() == 4.0 + IDLE_S


def test_a_removed_frame_leaves_no_open_request() -> None:
    """Its session reports nothing any more."""
    of = watch()
    stated = {"requestId": "7", "type": "Fetch", "request": {"url": "https://a.test/x"}}
    of.take("Network.requestWillBeSent", stated, "a-frame", 1.0)
    of.take("Page.loadEventFired", {}, PAGE, 1.0)
    of.take("Target.detachedFromTarget", {"sessionId": "a-frame"}, PAGE, 5.0)
    assert ended(of, 5.0 + IDLE_S) == ("loaded", "")


def test_a_redirect_out_of_the_site_ends_as_left() -> None:
    """Only without a redirect is an unknown name a refusal."""
    failed = {"result": {"errorText": "net::ERR_NAME_NOT_RESOLVED"}}
    led = watch()
    requested(led, "1")
    requested(led, "1", "https://b.test/x", redirectResponse={"status": 302})
    led.answer(failed)
    reason = (
        "it was redirected to https://b.test/x, outside of the site: net::ERR_NAME_NOT_RESOLVED"
    )
    assert ended(led) == ("left", reason)
    there = watch()
    requested(there, "1", "https://b.test/x")
    there.answer(failed)
    assert ended(there) == ("refused", "net::ERR_NAME_NOT_RESOLVED")


def test_another_document_is_another_page() -> None:
    """Frames and the first committed document do not count."""
    of = watch()
    committed(of, "1")
    committed(of, "2", "https://a.test/frame", parentId="main")
    assert ended(of) is None
    committed(of, "3", "chrome-error://x", unreachableUrl="https://b.test/")
    assert ended(of) == ("left", "it navigated to https://b.test/")
    committed(of, "4")
    assert ended(of) == ("left", "it navigated to https://b.test/")


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("Inspector.targetCrashed", {}, "crashed"),
        ("Target.targetCrashed", {"targetId": TARGET, "status": "oom"}, "crashed"),
        ("Browser.downloadWillBegin", {"url": "https://a.test/f"}, "download"),
    ],
)
def test_what_ends_a_load_at_once(method: str, params: dict[str, Any], kind: str) -> None:
    """The reason is in words."""
    of = watch()
    of.take(method, params, PAGE, 1.0)
    ending = ended(of)
    assert ending
    assert ending[0] == kind
    assert ending[1]


@pytest.mark.parametrize(
    ("stated", "kind"),
    [
        ({"result": {"isDownload": True, "errorText": "net::ERR_ABORTED"}}, "download"),
        ({"error": {"message": "Cannot navigate to invalid URL"}}, "refused"),
        ({"result": {"loaderId": "1"}}, None),
    ],
)
def test_the_response_to_the_navigation_decides(stated: dict[str, Any], kind: str | None) -> None:
    """The response is an error, a file or a page."""
    of = watch()
    of.answer(stated)
    ending = ended(of)
    assert (ending and ending[0]) == kind


@pytest.mark.parametrize(
    ("method", "kind", "reason"),
    [("loadingFinished", "loaded", ""), ("loadingFailed", "refused", "net::ERR_TIMED_OUT")],
)
def test_a_file_is_over_with_its_last_byte(method: str, kind: str, reason: str) -> None:
    """It needs no load event, and other requests do not count."""
    of = watch(file_only=True)
    requested(of, "1")
    requested(of, "2", kind="Other")
    of.take("Network.loadingFinished", {"requestId": "2"}, PAGE, 1.0)
    assert ended(of) is None
    stated = {"requestId": "1", "errorText": "net::ERR_TIMED_OUT"}
    of.take(f"Network.{method}", stated, PAGE, 1.0)
    assert ended(of) == (kind, reason)


@pytest.mark.parametrize(("begins", "ends"), [(NOW_S + 1, NOW_S + 2), (NOW_S - 2, NOW_S - 1)])
def test_an_invalid_certificate_ends_the_load(begins: float, ends: float) -> None:
    """The browser itself trusts the key."""
    of = watch()
    stated = {"subjectName": "a.test", "validFrom": begins, "validTo": ends}
    of.take("Network.responseReceived", {"response": {"securityDetails": stated}}, PAGE, 1.0)
    assert ended(of) == ("refused", "the certificate of a.test is not valid at this time")


def test_dialogs_and_windows_are_kept_and_bounded() -> None:
    """A page may open any number, with any text."""
    of = watch()
    of.take("Page.javascriptDialogOpening", {"type": "alert", "message": "x" * 9999}, PAGE, 1.0)
    window = {"type": "page", "openerId": "1", "url": "https://a.test/w"}
    of.take("Target.targetCreated", {"targetInfo": window}, "", 1.0)
    assert of.dialogs[1] == {"type": "window", "message": "https://a.test/w"}
    assert len(of.dialogs[0]["message"]) == load_end.MAX_WORDS + 3
    for _ in range(load_end.MAX_DIALOGS):
        of.take("Page.javascriptDialogOpening", {"type": "alert", "message": ""}, PAGE, 1.0)
    assert (len(of.dialogs), of.dropped_dialogs) == (load_end.MAX_DIALOGS, 2)
