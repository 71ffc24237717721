"""Whoever is killed, and whenever: nothing is left, and the campaign goes on to its end."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

import process_tree
from families import until
from httpbed.store import campaign as campaigns
from httpbed.store import campaign_folder
from orchestrator import VICTIMS, Run, Sandbox
from real_runs import SmallExperiment, finished

pytestmark = [pytest.mark.namespaces, pytest.mark.toolbox, pytest.mark.as_root, pytest.mark.alone]

DELAYS_S = (0.0, 0.02, 0.08)
"""After the victim is first seen; a whole trial takes some 250 ms."""
OF_THE_BED = {"outer", "init", "httpbed-link"}


def write(settings: SmallExperiment, folder: Path) -> Path:
    file = folder / "experiment.toml"
    file.write_text(settings.text())
    return file


def planned_trials_are_there(directory: Path) -> None:
    """See that the campaign holds what was planned: each trial once, with a valid outcome."""
    campaign = campaigns.open_existing(directory)
    attempts = campaign.attempts()
    assert set(attempts) == {trial.id for trial in campaign.design()}
    assert "invalid" not in {attempt.outcome.kind for attempt in attempts.values()}
    valid = Counter(
        record.attempt.id
        for record in campaign.records()
        if record.attempt.outcome.kind != "invalid"
    )
    assert set(valid.values()) == {1}
    assert not list((directory / "unfinished").iterdir())


def gone(sandbox: Sandbox) -> None:
    """Wait until no process has anything of a sandbox; a mount or an interface needs one."""
    until(lambda: not process_tree.holders(sandbox.namespaces))


def test_killing_anything_in_a_trial(tmp_path: Path) -> None:
    """A killed process of the bed costs an attempt; a killed program under test is data."""
    file = write(SmallExperiment(replicates=7, time_limit="2 s", delay="2 ms"), tmp_path)
    killed = Counter[str]()
    sandboxes = list[Sandbox]()
    with Run(file, tmp_path / "campaign") as run:
        until(lambda: run.is_over() or (tmp_path / "campaign/unfinished").exists())
        seen = set[int]()
        for delay, victim in itertools.product(DELAYS_S, VICTIMS):
            sandbox = run.await_victim(victim, seen)
            assert sandbox, f"the run ended too early:\n{run.log}"
            time.sleep(delay)
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.kill(sandbox.pids[victim], signal.SIGKILL)
                killed[victim] += 1
            sandboxes.append(sandbox)
            if victim in OF_THE_BED:
                gone(sandbox)
        assert run.wait() == 0, run.log
    for sandbox in sandboxes:
        gone(sandbox)
    planned_trials_are_there(tmp_path / "campaign")
    assert set(killed) == set(VICTIMS)
    kinds = Counter(
        record.attempt.outcome.kind
        for record in campaigns.open_existing(tmp_path / "campaign").records()
    )
    assert 3 <= kinds["invalid"] <= killed["outer"] + killed["init"] + killed["httpbed-link"]
    assert 2 <= kinds["failed"] + kinds["timed out"] <= killed["nginx"] + killed["curl"]


def test_a_campaign_whose_orchestrator_is_killed_is_resumed(tmp_path: Path) -> None:
    """The same command completes it, after kills at several moments."""
    file = write(SmallExperiment(replicates=3, size="50 kB"), tmp_path)
    directory = tmp_path / "campaign"
    for moment in ("outer", "nginx", "curl", "third finished trial"):
        kill_orchestrator(file, directory, moment)
    before = finished(directory)
    assert len(before) >= 3
    with Run(file, directory) as run:
        assert run.wait() == 0, run.log
        assert f"{len(before)} of 9 trials are finished" in run.log
    assert before.items() <= finished(directory).items()
    planned_trials_are_there(directory)


def kill_orchestrator(file: Path, directory: Path, moment: str) -> None:
    """Kill it at a moment; see that its sandbox ends and that finished trials do not change."""
    before = finished(directory)
    with Run(file, directory) as run:
        if moment in VICTIMS:
            sandbox = run.await_victim(moment, set())
        else:
            until(lambda: len(finished(directory)) >= 3)
            sandbox = run.sandbox()
        run.kill()
        if sandbox:
            gone(sandbox)
    assert not list(run.temporary.iterdir()), moment
    assert before.items() <= finished(directory).items(), moment
    assert not campaign_folder.is_locked(directory), moment
