"""``httpbed report --status`` and the process beside a run, on campaigns in which nothing runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from command_line import Command
from httpbed.addons.live import terminal, watch
from httpbed.addons.live.live_view import LiveView
from httpbed.campaign.executor import AttemptProgress
from httpbed.cli.progress import Reporter
from httpbed.experiment.trial import Outcome
from httpbed.store import campaign as campaigns
from httpbed.store.campaign import Campaign

TRIALS = stored_campaigns.loaded().trials


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a campaign with a failed trial, an invalid attempt, and a damaged one."""
    records = [
        stored_campaigns.record(TRIALS[0]),
        stored_campaigns.record(TRIALS[1], 1, "invalid"),
        stored_campaigns.record(TRIALS[1], 2, seconds=2.0),
        stored_campaigns.record(TRIALS[2], 1, "failed"),
        stored_campaigns.record(TRIALS[3]),
    ]
    made = stored_campaigns.make(tmp_path / "campaign", records)
    (made.directory / f"trials/0001/{TRIALS[3].id}/1/trial.json").write_text("{}")
    return made.directory


@pytest.fixture
def held(folder: Path) -> Iterator[Campaign]:
    """Hold the campaign, as a run does."""
    text, manifest = stored_campaigns.SMALL, stored_campaigns.manifest()
    with campaigns.opened(folder, text, TRIALS, manifest) as campaign:
        yield campaign


def test_a_status_is_one_screen(httpbed: Command, folder: Path) -> None:
    """Progress, outcomes, reasons, the damaged attempt, and the estimates."""
    code, out, err = httpbed("report", folder, "--status")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith(
        f"{folder}: 3 of 12 trials ended: 2 completed, 1 failed; 1 invalid attempt kept aside;"
        " no run is in progress"
    )
    assert "1 attempt differs from what was written" in out
    assert "failures   1x curl, nginx: as planned" in lines
    assert "invalid    1x as planned" in lines
    assert sum("1/2" in line for line in lines) == 2
    assert len(lines) < 25
    assert not any(line.endswith(" ") for line in lines)


def test_several_campaigns_have_a_status_each(
    httpbed: Command, folder: Path, tmp_path: Path
) -> None:
    """As text below each other, and as a line of JSON each."""
    other = stored_campaigns.make(tmp_path / "other").directory
    code, out, _ = httpbed("report", folder, other, "--status")
    assert code == 0
    assert f"{folder}: 3 of 12 trials" in out
    assert f"{other}: 0 of 12 trials" in out
    found = [
        json.loads(line)
        for line in httpbed("report", folder, other, "--status", "--json")[1].splitlines()
    ]
    assert [(one["directory"], one["ended"]) for one in found] == [
        (str(folder), 3),
        (str(other), 0),
    ]


def test_a_status_says_that_a_run_is_in_progress(httpbed: Command, held: Campaign) -> None:
    """It reads the kernel's locks, and does not take the run's."""
    found = json.loads(httpbed("report", held.directory, "--status", "--json")[1])
    assert (found["running"], found["note"][:9]) == (True, "Estimates")


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_watch_of_a_campaign_without_run_ends_at_once(
    httpbed: Command, folder: Path, words: tuple[str, ...]
) -> None:
    """With the status, once."""
    code, out, _ = httpbed("report", folder, "--status", "--watch", *words)
    assert code == 0
    assert out.count("3 of 12 trials ended") == 1


@dataclass
class Shown:
    """Keeps what is shown."""

    statuses: list[Mapping[str, Any]]
    is_live: bool = True
    rows: int = 20

    def show_status(self, status: Mapping[str, Any], lines: object) -> None:
        assert lines
        self.statuses.append(status)


def test_the_process_beside_a_run_tells_what_changes(folder: Path) -> None:
    """It shows each status, at idle priority, and ends after the run."""
    shown: list[Mapping[str, Any]] = []
    text, manifest = stored_campaigns.SMALL, stored_campaigns.manifest()
    with LiveView() as view:
        with campaigns.opened(folder, text, TRIALS, manifest) as campaign:
            view.start(folder, Shown(shown))
            assert view._process is not None
            assert os.sched_getscheduler(view._process.pid) == os.SCHED_IDLE
            stored_campaigns.keep(campaign, stored_campaigns.record(TRIALS[4]))
        assert view._process.wait() == 0
        assert view._reader is not None
        view._reader.join()
    assert (shown[-1]["ended"], shown[-1]["running"]) == (4, False)


def test_a_process_that_loses_its_run_ends_by_itself(folder: Path) -> None:
    """A killed run leaves none behind: without the campaign's lock it says the last status."""
    argv = [sys.executable, "-m", "httpbed.addons.live.watcher", str(folder)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    (only,) = map(json.loads, ended.stdout.splitlines())
    assert (only["ended"], only["running"]) == (3, False)


def test_no_view_starts_no_process(folder: Path) -> None:
    """Without a terminal, nothing is taken from the trials."""
    with LiveView() as view:
        view.start(folder, Shown([], is_live=False))
        assert view._process is None


def test_a_terminal_shows_the_status_below_the_bar(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time left is that of the status; the treatments fit the height."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LINES", "12")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with Reporter(9) as reporter:
        assert reporter.is_live
        status = {**watch.once(folder), "left_s": 60.0}
        reporter.show_status(status, terminal.beside_a_run(status, reporter.rows))
    out = capfd.readouterr().err
    assert "about 60 s left" in out
    assert "2 completed, 1 failed; 1 invalid attempt kept aside" in out
    assert "\x1b[3" not in out.replace("\x1b[3A", "")


def test_a_program_that_ends_at_once_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    """Its last lines are whole; trials that end alike differ in process identifiers only."""
    words = "nginx did not start: " + "unknown directive / " * 20
    with Reporter(len(TRIALS)) as reporter:
        for number, trial in enumerate(TRIALS):
            record = stored_campaigns.record(trial, kind="failed")
            outcome = Outcome(kind="failed", reason=f"{words} (process {number})")
            attempt = record.attempt.model_copy(update={"outcome": outcome})
            reporter.report(AttemptProgress(attempt, retried=False))
    told = [line for line in capfd.readouterr().err.splitlines() if "did not start" in line]
    assert len(told) == 1
    assert words.strip() in told[0]
