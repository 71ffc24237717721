"""A second series of attempts at the end of a run: for whom, side by side or not, how late."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import stored_campaigns
from httpbed.campaign import executor
from httpbed.campaign.admission import Admission
from httpbed.campaign.executor import AttemptProgress, Work
from httpbed.campaign.settings import ONE
from httpbed.experiment.check import PRESSURE, ROUND_TRIP_TIME, CheckDescriptor
from httpbed.experiment.trial import Record, Trial
from httpbed.store.campaign import Campaign

TRIALS = stored_campaigns.loaded().trials


def series(left: Sequence[Work], shares: Sequence[float]) -> tuple[list[list[Work]], int]:
    """Run a second series; return what ran in each call, and how often it looked at the machine."""
    ran, looks = list[list[Work]](), iter(shares)
    looked = 0

    async def execute(work: Sequence[Work]) -> list[Work]:
        ran.append(list(work))
        return []

    def share() -> float:
        nonlocal looked
        looked += 1
        return next(looks)

    executor.run_second_series(left, execute, lambda _: None, taken_share=share)
    return ran, looked


def test_each_trial_waits_for_a_calm_machine_and_runs_alone() -> None:
    left = [(TRIALS[0], 5), (TRIALS[3], 5)]
    assert series(left, [0.9, 0.5, 0.49, 0.0]) == ([[left[0]], [left[1]]], 4)


def test_a_machine_that_stays_busy_delays_a_run_by_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The trials run then, too: one at a time is calmer than side by side."""
    now = iter(range(0, 10_000, 25))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    ran, looked = series([(trial, 2) for trial in TRIALS[:4]], [1.0] * 100)
    assert len(ran) == 4
    assert looked <= 3


def test_nothing_is_said_or_waited_for_if_no_trial_is_left() -> None:
    assert series([], []) == ([], 0)


@pytest.mark.parametrize(("broken", "is_left"), [(PRESSURE, True), (ROUND_TRIP_TIME, False)])
def test_only_a_busy_machine_earns_a_second_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: CheckDescriptor, is_left: bool
) -> None:
    """A path that is not the configured one would only be so again."""
    monkeypatch.setattr(executor, "PAUSE_S", 0.0)
    trial, told = TRIALS[0], list[AttemptProgress]()

    async def commit(_: Campaign, __: object, of: Trial, number: int, ___: object = None) -> Record:
        record = stored_campaigns.record(of, number, "invalid")
        checks = (broken.result(passed=False, figure="so"),)
        return record.model_copy(
            update={"attempt": record.attempt.model_copy(update={"checks": checks})}
        )

    monkeypatch.setattr(executor, "commit_attempt", commit)
    left = asyncio.run(
        executor.execute(
            stored_campaigns.make(tmp_path),
            None,  # type: ignore[arg-type]
            [(trial, 1)],
            admission=Admission(ONE),
            tell=told.append,
            say=lambda _: None,
            again_later=True,
        )
    )
    assert left == ([(trial, 5)] if is_left else [])
    assert [progress.later for progress in told] == [False, False, False, is_left]
    assert told[-1].retried == is_left
