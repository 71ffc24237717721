"""The executor's pool: how many tasks run at a time, and what ends it."""

from __future__ import annotations

import asyncio

import pytest

from httpbed.campaign import executor
from httpbed.experiment.errors import HostError


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


@pytest.mark.parametrize(
    ("under_way", "what"),
    [
        (0, "no attempt is under way"),
        (1, "finishing 1 attempt under way; Ctrl-C again breaks it off"),
        (3, "finishing 3 attempts under way; Ctrl-C again breaks them off"),
    ],
)
def test_a_first_interrupt_is_answered(under_way: int, what: str) -> None:
    """Without an attempt, as in a wait for a quiet machine, there is nothing to break off."""
    assert executor.finishing(under_way) == f"interrupted: {what}"
