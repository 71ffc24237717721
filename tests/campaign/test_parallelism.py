"""How many attempts run at a time, and what the number learns from."""

from __future__ import annotations

import asyncio
import os

import pytest

import stored_campaigns
from httpbed.campaign.parallelism import CALM_SHARE, Parallelism, Slots
from httpbed.experiment.check import PRESSURE
from httpbed.experiment.trial import Record

TRIAL = stored_campaigns.loaded().trials[0]
CPUS = os.cpu_count() or 1


def record(share: float) -> Record:
    """Return the record of an attempt with this share of the limit of CPU pressure."""
    passed, measured = share <= 1, share * PRESSURE.limit
    made = stored_campaigns.record(TRIAL, kind="completed" if passed else "invalid")
    check = PRESSURE.result(passed=passed, figure="", measured=measured)
    return made.model_copy(update={"attempt": made.attempt.model_copy(update={"checks": [check]})})


async def ended(slots: Slots, *shares: float) -> None:
    """Run attempts one after another."""
    for share in shares:

        async def attempt(share: float = share) -> Record:
            return record(share)

        await slots.run(attempt)


async def most_at_once(slots: Slots, attempts: int) -> int:
    """Run attempts side by side; return how many ran at a time."""
    running, most = 0, 0

    async def attempt() -> Record:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        return record(1.0)

    async with asyncio.TaskGroup() as group:
        for _ in range(attempts):
            group.create_task(slots.run(attempt))
    return most


@pytest.mark.parametrize("jobs", [1, 3, 12])
def test_a_fixed_number_stays(jobs: int) -> None:
    """Whatever the pressure was."""

    async def run() -> tuple[int, int]:
        slots = Slots(Parallelism(jobs))
        await ended(slots, 0.0, 2.0, 2.0)
        return slots.limit, await most_at_once(slots, 12)

    assert asyncio.run(run()) == (jobs, jobs)


def test_calm_attempts_raise_the_number_up_to_the_bound() -> None:
    """Pressure above the calm share leaves it."""

    async def run() -> list[int]:
        slots, limits = Slots(Parallelism(CPUS + 3, adapts=True)), []
        for shares in ([CALM_SHARE * 1.1] * 4, [0.0], [CALM_SHARE] * 20):
            await ended(slots, *shares)
            limits.append(slots.limit)
        return limits

    assert asyncio.run(run()) == [CPUS, CPUS + 1, CPUS + 3]


def test_a_strained_attempt_lowers_the_number_down_to_the_cpus() -> None:
    """One trial for each CPU always runs."""

    async def run() -> list[int]:
        slots, limits = Slots(Parallelism(max(16, CPUS), adapts=True)), []
        await ended(slots, *[0.0] * 32)
        for _ in range(6):
            await ended(slots, 1.1)
            limits.append(slots.limit)
        return limits

    assert asyncio.run(run()) == [max(int(16 * 0.75**times), CPUS) for times in range(1, 7)]


def test_attempts_that_were_strained_together_lower_the_number_once() -> None:
    """All of them saw the same neighbours."""

    async def run() -> int:
        slots = Slots(Parallelism(max(16, CPUS), adapts=True))
        await ended(slots, *[0.0] * 32)
        begun = asyncio.Event()

        async def attempt() -> Record:
            await begun.wait()
            return record(1.1)

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(slots.run(attempt))
            await asyncio.sleep(0)
            group.create_task(asyncio.sleep(0.005)).add_done_callback(lambda _: begun.set())
        return slots.limit

    assert asyncio.run(run()) == max(12, CPUS)
