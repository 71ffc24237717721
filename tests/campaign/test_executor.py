"""The executor's pool: how many tasks run at a time, and what ends it.

How far a run is, from the attempts that it has committed.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import stored_campaigns
from httpbed.base.errors import HostError
from httpbed.campaign import executor
from httpbed.campaign.admission import Admission
from httpbed.campaign.settings import ONE
from httpbed.cli.progress import Pace, RunParts
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.trial import plan, verdict
from httpbed.trial.verdict import AttemptId
from recorded import H2_LOSS, trial


def test_no_more_tasks_run_at_a_time_than_jobs() -> None:
    """Ten tasks with three jobs start in order, three at a time."""
    running, most, started = 0, 0, list[int]()

    async def act(task: int) -> None:
        nonlocal running, most
        started.append(task)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    asyncio.run(executor.side_by_side(range(10), act, jobs=3))
    assert (most, started) == (3, list(range(10)))


def test_the_first_error_ends_all_tasks_and_is_raised_alone() -> None:
    """A command reports it as its own error; a task that waits is cancelled."""
    cancelled = []

    async def act(task: str) -> None:
        if task == "fails":
            raise HostError("no sandbox", "allow user namespaces")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(task)
            raise

    with pytest.raises(HostError, match="no sandbox"):
        asyncio.run(executor.side_by_side(["waits", "fails", "never starts"], act, jobs=2))
    assert cancelled == ["waits"]


def test_a_full_disk_keeps_the_attempts_whose_programs_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is being judged and one waits for a thread; an attempt that still runs is lost."""
    campaign, trials = stored_campaigns.make(tmp_path), stored_campaigns.loaded().trials[:4]
    is_judged, waits, runs, finds_it_full = trials
    judging, cancelled = threading.Event(), threading.Event()
    pool, elsewhere = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    async def made(trial: Trial, *_: object) -> dict[str, float]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(pool)
        if trial is finds_it_full:
            await loop.run_in_executor(elsewhere, judging.wait)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if trial is runs:
            await asyncio.Event().wait()
        (campaign.directory / "unfinished" / f"{trial.id}-1" / "artifacts").mkdir()
        return {}

    def judge(this: AttemptId, *_: object) -> Record:
        judging.set()
        cancelled.wait()
        return stored_campaigns.record(this.trial)

    async def act(trial: Trial) -> None:
        try:
            await executor.commit_attempt(campaign, setup, trial, 1)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    monkeypatch.setattr(executor, "_made", made)
    monkeypatch.setattr(verdict, "judge", judge)
    monkeypatch.setattr(plan, "by_setup", lambda trial, _: trial)
    setup: Any = None
    with pytest.raises(OSError, match="No space left"):
        asyncio.run(executor.side_by_side(trials, act, jobs=4))
    assert {*campaign.attempts()} == {is_judged.id, waits.id}


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_first_interrupt_lets_the_trials_of_a_campaign_that_is_kept_finish(
    monkeypatch: pytest.MonkeyPatch, *, is_kept: bool
) -> None:
    """Nobody reads those of another one, such as of a step of a bisection."""
    finished = list[str]()

    async def commit(*words: Any) -> Record:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0)
        finished.append(words[2].id)
        return stored_campaigns.record(words[2])

    monkeypatch.setattr(executor, "commit_attempt", commit)
    nothing: Any = None
    first, second, *_ = stored_campaigns.loaded().trials
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(
            executor.execute(
                nothing,
                nothing,
                [(first, 1), (second, 1)],
                admission=Admission(ONE),
                tell=lambda _: None,
                say=lambda _: None,
                is_kept=is_kept,
            )
        )
    assert finished == [first.id] * is_kept


@pytest.mark.parametrize(
    ("under_way", "what"),
    [
        (0, "no attempt is under way"),
        (1, "finishing 1 attempt under way; Ctrl-C again breaks it off"),
        (3, "finishing 3 attempts under way; Ctrl-C again breaks them off"),
    ],
)
def test_a_first_interrupt_is_answered(under_way: int, what: str) -> None:
    """Without an attempt, as in the pause before a retry, there is nothing to break off."""
    assert executor.finishing(under_way) == f"interrupted: {what}"


def finished(block: int) -> Attempt:
    values = {"number": 1, "started": "2026-11-22T10:00:00Z", "phases_s": {}, "checks": []}
    of_block = trial(H2_LOSS).model_copy(update={"block": block})
    return Attempt.model_validate({**values, "trial": of_block, "outcome": {"kind": "completed"}})


BLOCKS = RunParts.blocks(finished(block).trial for block in (1, 1, 1, 2, 2, 2))


def test_the_time_left_is_that_of_the_finished_trials_times_the_others() -> None:
    """Two of six trials in 10 s leave 20 s."""
    pace = Pace(total=6, parts=BLOCKS, began_s=100.0)
    pace.finish(finished(1), 104.0)
    pace.finish(finished(1), 110.0)
    assert (pace.done, pace.lasted_s, pace.left_s) == (2, 10.0, 20.0)


def test_the_last_trial_of_a_block_completes_it() -> None:
    """Trials of other blocks in between do not count."""
    parts = RunParts.blocks(finished(block).trial for block in (1, 2, 2, 1))
    pace = Pace(total=4, parts=parts, began_s=0.0)
    ended = [pace.finish(finished(block), 1.0) for block in (1, 2, 2, 1)]
    assert ended == [None, None, "block 2", "block 1"]
