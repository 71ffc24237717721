"""What host and guest hand each other through the shared folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.experiment.errors import BedError
from httpbed.host.packages.toolbox import Root
from httpbed.programs import catalog
from httpbed.trial.guest import handed, outside
from httpbed.trial.guest.handed import Work
from httpbed.trial.plan import CampaignSetup
from httpbed.trial.program_roots import Programs
from recorded import H2_LOSS, trial


def setup(place: Path) -> CampaignSetup:
    """Return a setup with every recipe that httpbed has."""
    root = Root("trixie", place / "root", frozenset(), {}, "2026-11-23")
    return CampaignSetup(catalog.load(), Programs(root, {}), place / "certificates", {})


def test_a_guest_plans_the_same_attempt(tmp_path: Path) -> None:
    """Trial, recipes and programs arrive as they were."""
    work = Work(trial(H2_LOSS).model_copy(update={"clock": "virtual"}), setup(tmp_path))
    handed.write_work(tmp_path, work)
    arrived = handed.read_work(tmp_path)
    assert arrived.trial == work.trial
    assert arrived.setup.plan(arrived.trial).specs() == work.setup.plan(work.trial).specs()


def test_the_phases_come_back(tmp_path: Path) -> None:
    """In the guest's seconds."""
    handed.write_result(tmp_path, {"phases_s": {"client": 142.6}})
    assert handed.read_result(tmp_path) == {"client": 142.6}


def test_an_attempt_that_broke_off_in_the_guest_is_broken_off_here(tmp_path: Path) -> None:
    """With the reason that the bed gave there."""
    handed.write_result(tmp_path, {"broken": "the emulator ended"})
    with pytest.raises(BedError, match=r"^the emulator ended$"):
        handed.read_result(tmp_path)


def test_a_guest_that_left_nothing_broke_off(tmp_path: Path) -> None:
    """A kernel may power off before Python has written anything."""
    with pytest.raises(BedError, match="powered off without a result"):
        handed.read_result(tmp_path)


def test_the_watchdog_waits_longer_for_a_trial_with_a_longer_time_limit() -> None:
    """At least ten minutes, for a machine on which many guests share a processor."""
    short = trial(H2_LOSS).model_copy(update={"time_limit_s": 1.0})
    long = short.model_copy(update={"time_limit_s": 1000.0})
    assert outside.limit_s(short) == 602.0
    assert outside.limit_s(long) == 2600.0
