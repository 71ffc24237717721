"""``httpbed report --status`` and the lines of a run, on campaigns in which nothing runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import stored_campaigns
from command_line import Command
from httpbed.bed.machine import machine_load
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


def test_a_status_says_that_a_run_is_in_progress(
    httpbed: Command, held: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the kernel's locks, does not take the run's, and gives way to the trials."""
    given_way = list[bool]()
    monkeypatch.setattr(machine_load, "become_idle", lambda: given_way.append(True))
    found = json.loads(httpbed("report", held.directory, "--status", "--json")[1])
    assert (found["running"], found["note"][:9], given_way) == (True, "Estimates", [True])


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_watch_of_a_campaign_without_run_ends_at_once(
    httpbed: Command, folder: Path, words: tuple[str, ...]
) -> None:
    """With the status, once."""
    code, out, _ = httpbed("report", folder, "--status", "--watch", *words)
    assert code == 0
    assert out.count("3 of 12 trials ended") == 1


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
