"""Resuming a campaign in virtual time: an invalid attempt that was judged would only come again.

What is made for all trials of a campaign before the first one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stored_campaigns
from httpbed.base.clock import Clock
from httpbed.campaign import campaign_setup, executor, preparation, settings
from httpbed.campaign import run as campaign_run
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import ONE, DesignOptions, Parallelism
from httpbed.experiment.trial import Record, Trial
from httpbed.programs import catalog
from httpbed.store import campaign as campaigns
from httpbed.trial import verdict
from httpbed.trial.verdict import AttemptId


def loaded(clock: Clock) -> LoadedExperiment:
    """Read an experiment of twelve trials by a clock."""
    return preparation.load(
        stored_campaigns.SMALL, catalog.load(), options=DesignOptions(clock=clock)
    )


def resumed(
    directory: Path, clock: Clock, jobs: Parallelism = ONE
) -> tuple[campaign_run.OpenRun, list[str]]:
    """Resume a campaign whose first trial is invalid and whose second was broken off."""
    read, said = loaded(clock), list[str]()
    judged, broken, *_ = read.trials
    manifest = stored_campaigns.manifest() | {"clock": clock}
    with campaigns.opened(directory, read.text, read.trials, manifest) as campaign:
        stored_campaigns.keep(campaign, stored_campaigns.record(judged, 1, "invalid"), died(broken))
    setup: Any = SimpleNamespace(files={})
    ready = campaign_run.Prepared(read, setup, manifest)
    with campaign_run.opened(ready, directory, jobs=jobs, say=said.append) as work:
        return work, said


def died(trial: Trial) -> Record:
    this = AttemptId(trial, 1, datetime(2026, 11, 21, tzinfo=UTC))
    return verdict.broken_bed(this, "the guest ended with exit status 137")


def test_a_judged_invalid_trial_is_repeated_in_real_time_only(tmp_path: Path) -> None:
    """In virtual time the run says so, and makes the trial that was broken off again."""
    repeated: dict[Clock, list[int]] = {"real": [2, 2], "virtual": [2]}
    for clock, numbers in repeated.items():
        work, said = resumed(tmp_path / clock, clock)
        assert [number for _, number in work.pending if number > 1] == numbers
        assert any("1 trial is invalid and not repeated" in one for one in said) == (
            clock == "virtual"
        )


def test_auto_is_one_guest_for_each_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests do not disturb each other, so nothing has to adapt."""
    monkeypatch.setattr(settings, "cpus", lambda: 3)
    jobs = Parallelism(24, adapts=True)
    assert resumed(tmp_path / "real", "real", jobs)[0].jobs == jobs
    assert resumed(tmp_path / "virtual", "virtual", jobs)[0].jobs == Parallelism(3)
    assert resumed(tmp_path / "two", "virtual", Parallelism(2))[0].jobs == Parallelism(2)


def test_a_judged_attempt_in_virtual_time_would_end_the_same() -> None:
    """A guest that died, and a trial in real time, may end otherwise."""
    (virtual, *_), (real, *_) = (loaded(clock).trials for clock in ("virtual", "real"))
    invalid = [stored_campaigns.record(trial, 1, "invalid").attempt for trial in (virtual, real)]
    assert list(map(executor.may_end_otherwise, invalid)) == [False, True]
    assert executor.may_end_otherwise(died(virtual).attempt)


@pytest.mark.parametrize(("clock", "start"), [("real", "until-"), ("virtual", "guest-")])
def test_only_trials_in_guests_get_keys_that_anybody_can_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, start: str
) -> None:
    """Those of real trials protect a network that other programs may reach."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path))
    assert campaign_setup._certificates(clock, ()).name.startswith(start)
