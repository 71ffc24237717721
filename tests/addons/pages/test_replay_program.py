"""Checks of a recorded site: delay, length and order of its responses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from httpbed.addons.pages import replay_program as replay
from httpbed.addons.pages import replay_program as replay_origin
from httpbed.addons.pages.page_check_table import RECORDING
from httpbed.addons.pages.replay_program import ReplayLogEntry
from httpbed.addons.pages.sites.site import RecordedAnswer, Resource, Site
from httpbed.programs.part import LoggedRequest

HOST, DIGEST = "www.page.test", "0" * 64
MS = 10**6


def resource(number: int, length: int, **answer: object) -> Resource:
    return Resource(
        origin=0, path=f"/{number}", file=f"0/{number}", bytes=length, sha256=DIGEST, type="",
        answer=RecordedAnswer.model_validate(answer),
    )  # fmt: skip


SITE = Site(
    name="har-x",
    source="",
    entry="/0",
    origins=[HOST],
    recorded=True,
    skeleton=True,
    resources=[
        resource(0, 100, delay_s=0.04),
        resource(1, 50, after=0, since="head", wait_s=0.02),
        resource(2, 0, after=1, status=404, wait_s=0.01),
    ],
)
REPLAYED = (
    ReplayLogEntry(HOST, "/0", 0, 0, 41 * MS, 42 * MS),
    ReplayLogEntry(HOST, "/1", 1, 70 * MS, 70 * MS, 71 * MS),
    ReplayLogEntry(HOST, "/2", 2, 95 * MS, 95 * MS, 95 * MS),
)
LOGGED = tuple(
    LoggedRequest("2", status, length, authority=HOST, path=f"/{number}")
    for number, (status, length) in enumerate([(200, 100), (200, 50), (404, 0)])
)


def passed(
    replayed: tuple[ReplayLogEntry, ...] = REPLAYED, logged: tuple[LoggedRequest, ...] = LOGGED
) -> dict[str, bool]:
    found = [
        replay.punctual(SITE, replayed, ""),
        *replay.checks(SITE, logged, replayed, ""),
    ]
    return {check.name: bool(check.passed) for check in found if check.check != RECORDING.id}


def test_each_deviation_from_a_recording_is_caught() -> None:
    """By its check; a response that a page asks for again counts once."""
    assert passed() == {
        "recorded delays": True,
        "lengths of the bodies": True,
        "recorded order": True,
    }
    early, late = replace(REPLAYED[0], begun_ns=39 * MS), replace(REPLAYED[0], begun_ns=150 * MS)
    assert not passed((early, *REPLAYED[1:]))["recorded delays"]
    assert not passed((late, *REPLAYED[1:]))["recorded delays"]
    again = replace(REPLAYED[0], requested_ns=93 * MS, begun_ns=93 * MS, ended_ns=94 * MS)
    assert passed((*REPLAYED, again))["recorded order"]
    assert not passed(logged=(replace(LOGGED[0], body_bytes=99),))["lengths of the bodies"]
    assert not passed(logged=(replace(LOGGED[0], status=500),))["lengths of the bodies"]
    early = replace(REPLAYED[1], requested_ns=50 * MS)
    assert not passed((REPLAYED[0], early, REPLAYED[2]))["recorded order"]


def test_the_replay_log_is_read(tmp_path: Path) -> None:
    """A server without a recorded site has none."""
    times = {"requested_ns": 1, "begun_ns": 2, "ended_ns": 3}
    line = json.dumps({"method": "GET", "host": "h", "path": "/", "answer": None, **times}) + "\n"
    (tmp_path / replay_origin.LOG).write_text(line * 2)
    assert replay_origin.read(tmp_path) == (ReplayLogEntry("h", "/", None, 1, 2, 3),) * 2
    assert replay_origin.read(tmp_path / "other") == ()
