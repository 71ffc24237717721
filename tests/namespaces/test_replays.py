"""Sites rebuilt from HAR files: a real browser loads them as they were recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

import replays
from hars import CDN, MAIN, MIXED, ODD, STATS, Said, har
from httpbed.addons.pages.har import har_file, writer
from httpbed.addons.pages.har.har_file import HarDocument, HarEntry
from httpbed.addons.pages.load import driver_output as loads
from httpbed.addons.pages.sites.replay import bodies, selection
from httpbed.addons.pages.sites.replay.server_times import server_times
from httpbed.experiment.trial import Record
from real_runs import check

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox]

_PAGE = (
    "<!doctype html><title>own</title><link rel=stylesheet href=/a.css>"
    f"<img src={CDN}/b.png><script src={STATS}/s.js></script>"
)
_SCRIPT = "fetch('/data.json').then(r => r.json())"
OWN = (
    Said(f"{MAIN}/", 0, 60, size=400, kind="document", mime="text/html", text=_PAGE,
         headers={"content-encoding": "br"}),
    Said(f"{MAIN}/a.css", 60, 40, size=300, kind="stylesheet", mime="text/css",
         text="body { color: red }", headers={"content-encoding": "gzip"}),
    Said(f"{CDN}/b.png", 60, 50, size=5000),
    Said(f"{STATS}/s.js", 60, 80, size=len(_SCRIPT), kind="script", mime="text/javascript",
         text=_SCRIPT),
    Said(f"{MAIN}/data.json", 150, 40, size=64, kind="fetch", mime="application/json", text="{}"),
)  # fmt: skip
"""A page that asks for all by itself, its image without a body."""


def artifacts(directory: Path, record: Record) -> Path:
    """Return the folder that an attempt left."""
    attempt = record.attempt
    trial = directory / "trials" / f"{attempt.trial.block:04d}" / attempt.id
    return trial / str(attempt.number) / "artifacts"


def exported(folder: Path) -> HarDocument:
    """Write the HAR file of a load, and read it."""
    load = loads.read(folder / "client")
    said = writer.har(load, started=datetime(2026, 1, 31, tzinfo=UTC))
    return har_file.read(json.dumps(said).encode(), "exported.har")


def told(entries: Iterable[HarEntry]) -> Counter[tuple[str, int, int]]:
    """Say of each entry what was asked, and status and length of the answer."""
    return Counter((entry.url, entry.status, bodies.body_size(entry).bytes) for entry in entries)


def recorded_order(entries: Sequence[HarEntry]) -> list[str]:
    """List the paths by the time at which they were asked for."""
    return [entry.path for entry in sorted(entries, key=lambda entry: entry.requested_at)]


def test_three_origins_over_all_versions(tmp_path: Path) -> None:
    """Browser and nginx report the recorded status, headers, length, delay and order."""
    made = replays.stage(tmp_path, MIXED)
    recording = selection.choose(har_file.read(har(MIXED).encode()), "site.har")
    sizes = [bodies.body_size(request.entry) for request in recording.requests]
    delays_s = server_times(recording.requests, sizes).delays_s
    for record in made.results(tmp_path / "campaign"):
        assert record.attempt.outcome.kind == "completed", record.attempt.outcome
        folder = artifacts(tmp_path / "campaign", record)
        again = exported(folder)
        entries = [request.entry for request in recording.requests]
        assert told(again.entries) == told(entries)
        paths = recorded_order(again.entries)
        led_first = ["/", "/a.css", "/old.png", "/new.png"]  # each led to the next
        assert [path for path in paths if path in led_first] == led_first
        assert paths[-4:] == ["/t?e=1", "/t?e=1", "/big.bin", "/late.png"]
        statuses = [entry.status for entry in again.entries if entry.path == "/t?e=1"]
        assert statuses == [204, 500]
        for one, least in zip(recording.requests, delays_s, strict=True):
            waits = [two.timings.wait for two in again.entries if two.url == one.entry.url]
            assert all(wait is not None and wait >= least for wait in waits), one.path
        style = next(entry for entry in again.entries if entry.path == "/a.css")
        assert bodies.header(style, "x-one") == "1"
        assert style.body_bytes == 840
        for name in ("recorded delays", "lengths of the bodies", "recorded order"):
            assert check(record, name).passed


def test_a_page_asks_for_all_by_itself(tmp_path: Path) -> None:
    """If the HAR file has all bodies, the recorded document is loaded, with its recorded length."""
    made = replays.stage(tmp_path, OWN, versions='["2"]')
    (site,) = made.setup.sites.values()
    assert not site.site.skeleton
    (record,) = made.results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome
    again = exported(artifacts(tmp_path / "campaign", record))
    assert Counter(entry.url for entry in again.entries) == Counter(said.url for said in OWN)
    assert check(record, "lengths of the bodies").passed
    document = next(entry for entry in again.entries if entry.path == "/")
    assert document.body_bytes == len(_PAGE)


@pytest.mark.parametrize(("server", "version"), [("nginx", "3"), ("caddy", "2")])
def test_odd_answers_are_answers(tmp_path: Path, server: str, version: str) -> None:
    """Dialogs, policies, redirect chains and other methods are answered as recorded."""
    made = replays.stage(tmp_path, ODD, versions=f'["{version}"]', server=server)
    (record,) = made.results(tmp_path / "campaign")
    assert record.attempt.outcome.kind == "completed", record.attempt.outcome
    assert check(record, "requests of the page").figure.startswith(f"{len(ODD) + 1} of ")
    assert check(record, "lengths of the bodies").passed
    assert check(record, "recorded order").passed
