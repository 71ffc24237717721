"""An attempt that is handed over to a guest."""

from __future__ import annotations

from pathlib import Path

from httpbed.host.guest import job
from httpbed.host.packages.toolbox import Root
from httpbed.programs import catalog
from httpbed.trial.guest import outside
from httpbed.trial.guest.work import Work
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
    job.write_work(tmp_path, work)
    arrived = job.read_work(tmp_path)
    assert arrived.trial == work.trial
    assert arrived.setup.plan(arrived.trial).specs() == work.setup.plan(work.trial).specs()


def test_the_watchdog_waits_longer_for_a_trial_with_a_longer_time_limit() -> None:
    """At least ten minutes, for a machine on which many guests share a processor."""
    short = trial(H2_LOSS).model_copy(update={"time_limit_s": 1.0})
    long = short.model_copy(update={"time_limit_s": 1000.0})
    assert outside.limit_s(short) == 602.0
    assert outside.limit_s(long) == 2600.0
