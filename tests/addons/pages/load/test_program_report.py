"""The parser of page loads: what a trial's checks and metrics get from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.pages.load import driver_output as chromium
from httpbed.programs import catalog, parsers
from httpbed.programs.part import ProgramReport
from recorded import FOLDER

CHROMIUM = FOLDER / "chromium-headless-shell-156.0.8078.79"


def read(folder: Path) -> ProgramReport:
    """Read a load as a recipe does."""
    return parsers.read("browser-load", folder / "load.json")


def left(folder: Path, ended: str, **more: Any) -> ProgramReport:
    """Write a load that ended in a given way, and read it."""
    stated = {"schema": 1, "url": "https://site.test/", "ended": ended} | more
    (folder / "load.json").write_text(json.dumps(stated))
    return read(folder)


@pytest.mark.parametrize(("name", "version"), [("h1", "1.1"), ("h2", "2"), ("h3", "3")])
def test_requests_of_a_real_load_agree_with_the_servers_log(name: str, version: str) -> None:
    """Path, host, protocol, status and bytes of header and body agree for each request."""
    parsed = read(CHROMIUM / name)
    assert parsed.complaint == ""
    log = map(json.loads, (CHROMIUM / "nginx-access.jsonl").read_text().splitlines())
    answered = [one for one in log if one["protocol"].startswith(f"HTTP/{version}")]
    assert len(parsed.requests) == 13
    assert sorted(
        (request.authority, request.path, request.status, request.wire_bytes, request.body_bytes)
        for request in parsed.requests
    ) == sorted(
        tuple(one[name] for name in ("authority", "path", "status", "wire_bytes", "body_bytes"))
        for one in answered
    )
    assert {request.http_version for request in parsed.requests} == {version}
    times = [(request.began_s or 0, request.ended_s or 0) for request in parsed.requests]
    assert all(0 < began < ended for began, ended in times)
    navigation_ns = chromium.read(CHROMIUM / name).navigation_ns or 0
    last_s = max(ended for _, ended in times)  # since the navigation in this record
    assert parsed.whole_ns == pytest.approx(navigation_ns + last_s * 1e9)
    assert {(request.resumed, request.early_data) for request in parsed.requests} == {(None, None)}


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ("time limit", "still loading at the time limit"),
        ("crashed", "process crashed"),
        ("left", "navigated away"),
        ("refused", "could not be loaded"),
        ("browser ended", "ended by itself"),
        ("download", "started a download"),
    ],
)
def test_every_other_ending_is_a_complaint_in_words(tmp_path: Path, ended: str, words: str) -> None:
    """The complaint has the driver's reason; there is no metric of the page."""
    parsed = left(tmp_path, ended, reason="because", cpu_s=1.0)
    assert words in parsed.complaint
    assert parsed.complaint.endswith(": because")
    assert parsed.observations == ()
    assert parsed.whole_ns is None
    assert parsed.timed_out == (ended == "time limit")


def test_dialogs_that_blocked_a_page_are_in_the_complaint(tmp_path: Path) -> None:
    """The complaint quotes the first dialogs."""
    dialogs = [{"type": "alert", "message": f"number {number}"} for number in range(5)]
    complaint = left(tmp_path, "time limit", dialogs=dialogs).complaint
    assert "alert 'number 0'" in complaint
    assert "alert 'number 3'" not in complaint
    assert "5 in all" in complaint
    (tmp_path / "cdp.jsonl").touch()
    assert left(tmp_path, "loaded", dialogs=dialogs).complaint == ""


def test_what_was_not_modified_has_no_body_and_what_was_cached_no_request() -> None:
    """A second view: the page itself, two pictures that the server confirmed, one that is lost."""
    parsed = read(CHROMIUM / "again" / "second")
    assert [(request.path, request.status, request.body_bytes) for request in parsed.requests] == [
        ("/page", 200, 252),
        ("/e.svg", 304, 0),
        ("/e.svg?2", 304, 0),
        ("/a.png", 0, None),
    ]


def test_a_failed_resource_is_a_complaint(tmp_path: Path) -> None:
    """The browser still reports such a page as loaded."""
    request = {"url": "https://site.test/a.jpg?b=1"}
    events = [
        {"method": f"Network.{method}", "params": {"requestId": "1", "timestamp": 1.0} | params}
        for method, params in (
            ("requestWillBeSent", {"request": request, "type": "Document", "loaderId": "1"}),
            ("loadingFailed", {"errorText": "net::ERR_NAME_NOT_RESOLVED"}),
        )
    ]
    (tmp_path / "cdp.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert not left(
        tmp_path, "time limit"
    ).timed_out  # the complaint is not about the network alone
    parsed = left(tmp_path, "loaded")
    assert parsed.complaint == "failed requests: /a.jpg?b=1 (net::ERR_NAME_NOT_RESOLVED)"
    (one,) = parsed.requests
    assert (one.status, one.body_bytes, one.authority) == (0, None, "site.test")


def test_dropped_events_are_a_complaint(tmp_path: Path) -> None:
    """The missing events may have been requests."""
    assert "more events than are kept" in left(tmp_path, "loaded", truncated=True).complaint


def test_missing_pictures_are_no_complaint(tmp_path: Path) -> None:
    """Missing pictures and an unanswered close do not change the load."""
    (tmp_path / "cdp.jsonl").touch()
    parsed = left(tmp_path, "loaded", pictures_cut=True, notes=["after the load: no answer"])
    assert parsed.complaint == ""
    assert parsed.remarks == (
        "the pictures end at 0.00 s, so there is no Speed Index",
        "after the load: no answer",
    )


def test_a_missing_load_is_a_complaint(tmp_path: Path) -> None:
    """The driver was killed, or never ran."""
    assert read(tmp_path).complaint == "the browser's driver left no load.json"
    (tmp_path / chromium.DRIVER_OUTPUT).write_text("a warning\nno such browser\n")
    assert read(tmp_path).complaint.endswith("left no load.json: no such browser")


def test_recipes_write_the_drivers_output_where_the_parser_reads_it() -> None:
    """Otherwise a missing load would have no explanation."""
    known = catalog.load()
    for name in ("chromium-headless-shell", "chromium"):
        assert known[name].run.stderr == chromium.DRIVER_OUTPUT
