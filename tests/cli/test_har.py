"""``import har``, and ``export`` of page loads."""

from __future__ import annotations

import json
import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import archives
import stored_campaigns
from command_line import Command
from httpbed.addons.pages.har import har_file, writer
from httpbed.base.errors import visible_lines
from httpbed.experiment.trial import Record
from httpbed.store import archive

TESTS = Path(__file__).parent.parent
RECORDED = TESTS / "recorded/chromium-headless-shell-156.0.8078.79"


@pytest.fixture
def har(tmp_path: Path) -> Path:
    """Write the HAR file of a load over HTTP/2."""
    file = tmp_path / "load.har"
    written = writer.har(archives.load(), archives.BEGAN, speed_index_s=0.0905)
    file.write_text(json.dumps(written))
    return file


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Make a campaign: two trials have loads; a third has a torn load."""
    folder = tmp_path / "campaign"
    trials = stored_campaigns.loaded().trials
    loads = dict(zip((trial.id for trial in trials), ("h2", "h3", ""), strict=False))

    def leave(record: Record, artifacts: Path) -> None:
        name, place = loads.get(record.attempt.id), artifacts / "client"
        if name:
            shutil.copytree(RECORDED / name, place)
        elif name is not None:
            place.mkdir(parents=True)
            (place / "load.json").write_text("{")

    stored_campaigns.make(
        folder, [stored_campaigns.record(trial) for trial in trials[:4]], leave=leave
    )
    return folder


def _names(index: int) -> str:
    trial = stored_campaigns.loaded().trials[index]
    return f"{trial.block:04d}-{trial.id}"


def test_import_prints_metrics_and_the_audit(httpbed: Command, har: Path) -> None:
    """Without a claim, nothing is contradicted."""
    code, out, err = httpbed("pages", "import", har)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"{har}, page_1: https://server.httpbed.test/?q=a%20b"
    assert "speed_index 90.5 ms" in lines
    assert "onload_time 120 ms" in lines
    assert "resource_time_to_first_byte 30.6 ms, median of 3" in lines
    assert "protocol not claimed HTTP/2: 3" in lines
    assert any(line.startswith("cache not claimed 1 from a cache") for line in lines)


def test_a_contradicted_claim_exits_with_code_one(httpbed: Command, har: Path) -> None:
    """The output names the entries that contradict it."""
    code, out, _ = httpbed("pages", "import", har, "--claim", "http_version=3", "--json")
    assert code == 1
    (one,) = json.loads(out)
    protocol = next(finding for finding in one["audit"] if finding["about"] == "protocol")
    assert (protocol["verdict"], protocol["entries"]) == ("contradicted", [0, 1, 4])
    assert httpbed("pages", "import", har, "--claim", "http_version=2")[0] == 0


def test_hostile_names_and_texts_of_a_har_file_are_escaped(
    httpbed: Command, har: Path, tmp_path: Path
) -> None:
    """Bytes that are not UTF-8 and control characters end no command; JSON has them as they are."""
    said = json.loads(har.read_text())
    said["log"]["browser"]["name"] = "=cmd\x1b\ud800"
    for entry in said["log"]["entries"]:
        entry["request"]["url"] += "?\x1b[2J\ud800\u202e"
    hostile = tmp_path / os.fsdecode(b"\xff\x1b.har")
    hostile.write_text(json.dumps(said))
    code, out, _ = httpbed("pages", "import", hostile)
    assert code == 0
    assert visible_lines(out) == out
    (one,) = json.loads(httpbed("pages", "import", hostile, "--json")[1])
    assert one["product"].startswith("=cmd\x1b")
    assert one["file"].endswith("\udcff\x1b.har")


def test_bytes_are_left_out_if_only_some_responses_have_them(
    httpbed: Command, tmp_path: Path
) -> None:
    """A sum of half of them would be a wrong one."""
    told = {"status": 200, "_transferSize": 1000}
    file = tmp_path / "half.har"
    for responses, metrics in (([told, told], {"page_bytes"}), ([told, {"status": 200}], set())):
        entries = [archives.entry(response=response, timings={"wait": 1}) for response in responses]
        file.write_bytes(archives.as_bytes(archives.har(*entries, pages=[archives.page()])))
        (one,) = json.loads(httpbed("pages", "import", file, "--json")[1])
        seen = {observation["metric"] for observation in one["observations"]}
        assert seen & {"page_bytes"} == metrics
        assert "page_load_time" in seen


def test_mistakes_of_every_file_are_reported(httpbed: Command, har: Path, tmp_path: Path) -> None:
    """All are reported at once, and nothing is imported."""
    torn, empty = tmp_path / "torn.har", tmp_path / "empty.har"
    torn.write_bytes(har.read_bytes()[:500])
    empty.write_bytes(archives.as_bytes(archives.har()))
    code, out, err = httpbed("pages", "import", har, torn, empty, tmp_path / "no.har", tmp_path)
    assert (code, out) == (2, "")
    assert "torn.har: is truncated at line 1, column" in err
    assert "empty.har: has no entry" in err
    assert "no.har: cannot be read: No such file or directory" in err
    assert f"{tmp_path}: is a folder, not a file; name a HAR file" in err


def test_loads_of_a_campaign_are_exported_as_har(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """Each load has a file; a load that cannot be read is reported."""
    code, out, err = httpbed("export", campaign, "--format", "har", "-o", tmp_path / "hars")
    assert (code, out) == (0, "")
    assert f"2 loads written to {tmp_path / 'hars'}" in err
    assert "2 loads without bodies: their page is not in this machine's cache" in err
    assert f"{_names(2)}: not written: " in err
    files = sorted(path.name for path in (tmp_path / "hars").iterdir())
    assert files == sorted(f"{_names(index)}.har" for index in (0, 1))
    (load,) = har_file.loads(har_file.read_file(tmp_path / f"hars/{_names(0)}.har"))
    assert {request.http_version for request in load.load.requests} == {"2"}
    assert len(load.load.requests) == 13
    told = json.loads((tmp_path / f"hars/{_names(1)}.har").read_text())["log"]
    asked = next(
        event["params"]
        for event in map(json.loads, (RECORDED / "h3/cdp.jsonl").read_text().splitlines())
        if event["method"] == "Network.requestWillBeSent"
    )
    started = datetime.fromisoformat(told["pages"][0]["startedDateTime"]).timestamp()
    assert 0 <= asked["wallTime"] - started < 0.1


def test_exported_loads_are_counted_in_the_singular(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """One load is no "1 loads"."""
    identity = stored_campaigns.loaded().trials[1].id
    (torn,) = campaign.rglob(f"{identity}/1/artifacts/client/cdp.jsonl")
    torn.with_name("load.json").write_text("{")
    _, _, err = httpbed("export", campaign, "--format", "har", "-o", tmp_path / "hars")
    assert f"1 load written to {tmp_path / 'hars'}" in err
    assert "1 load without bodies" in err


def test_loads_of_a_campaign_are_exported_by_request(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """In the form of Zhang and Song, of which the figures of their paper are made."""
    assert httpbed("export", campaign, "--format", "cdp-json", "-o", tmp_path / "by")[0] == 0
    requests: list[dict[str, Any]] = json.loads((tmp_path / f"by/{_names(1)}.json").read_text())
    assert len(requests) == 13
    first = requests[0]
    names = ["requestId", "url", "timestamp", "protocol", "dataLength", "responseUrl", "timing"]
    assert list(first) == names
    assert {request["protocol"] for request in requests} == {"h3"}
    recorded = [json.loads(line) for line in (RECORDED / "h3/cdp.jsonl").read_text().splitlines()]
    told = next(
        event["params"]["response"]["timing"]
        for event in recorded
        if event["method"] == "Network.responseReceived"
        and event["params"]["requestId"] == first["requestId"]
    )
    assert first["timing"]["requestTime"] == pytest.approx(told["requestTime"], abs=2e-6)
    for name in ("connectStart", "connectEnd", "sendStart", "sendEnd", "receiveHeadersEnd"):
        assert first["timing"][name] == pytest.approx(told[name], abs=0.002)


def test_an_archive_is_not_told_to_load_pages(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """Its trials did; their files are in the campaign only."""
    archive.merge([campaign], tmp_path / "archive")
    code, _, err = httpbed("export", tmp_path / "archive", "--format", "har", "-o", tmp_path / "x")
    assert (code, "archive" in err, "[workload]" in err) == (2, True, False)


@pytest.mark.parametrize("kind", ["har", "cdp-json"])
def test_loads_are_not_exported_beside_the_files_of_others(
    httpbed: Command, campaign: Path, tmp_path: Path, kind: str
) -> None:
    """A second export replaces the loads of the first; any other file keeps the folder as it is."""
    hars = tmp_path / "hars"
    export = ("export", campaign, "--format", kind, "-o", hars)
    assert [httpbed(*export)[0] for _ in range(2)] == [0, 0]
    (hars / "notes.txt").write_text("mine")
    for file in hars.glob("0*"):
        file.unlink()
    code, _, err = httpbed(*export)
    assert (code, "notes.txt" in err) == (2, True)
    assert [path.name for path in hars.iterdir()] == ["notes.txt"]


def test_an_altered_load_is_in_no_export_and_no_figure(
    httpbed: Command, campaign: Path, tmp_path: Path
) -> None:
    """Both say so; the trial's observations have a digest of their own, and count."""
    trial = stored_campaigns.loaded().trials[0]
    (campaign / f"trials/0001/{trial.id}/1/artifacts/client/cdp.jsonl").write_text("")
    code, _, err = httpbed("export", campaign, "--format", "har", "-o", tmp_path / "hars")
    assert code == 0
    assert (
        f"{_names(0)}: not written: trials/0001/{trial.id}/1: artifacts/client/cdp.jsonl has" in err
    )
    assert not (tmp_path / f"hars/{_names(0)}.har").exists()
    code, out, err = httpbed("report", campaign, "--trial", f"1/{trial.id}")
    assert code == 0
    assert f"left out: trials/0001/{trial.id}/1: artifacts/client/cdp.jsonl has 0 bytes" in err
    assert "over time  no record" in out
    assert len(httpbed("export", campaign)[1].splitlines()) == 5
