"""Which attempt starts next, and how waiting ones end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from admitted_attempts import ADAPTED, LIGHT, OTHER, ended, most_at_once, record, sensitive
from httpbed.campaign.admission import Admission
from httpbed.campaign.parallelism import Parallelism
from httpbed.experiment.trial import Record, Trial
from httpbed.trial.run.demand import ReportDemand

pytestmark = pytest.mark.usefixtures("four_idle_cpus")


async def begun(admitted: Admission, trials: Sequence[Trial]) -> list[Trial]:
    """Let attempts at the trials wait; return those that began, in order."""
    began, gate = list[Trial](), asyncio.Event()

    async def attempt(trial: Trial, _: object) -> Record:
        began.append(trial)
        await gate.wait()
        return record(trial, 1.0)

    async with asyncio.TaskGroup() as group:
        for trial in trials:
            group.create_task(admitted.run(trial, partial(attempt, trial)))
        await asyncio.sleep(0.05)
        at_first = list(began)
        gate.set()
    return at_first


def test_an_attempt_that_tolerates_little_is_overtaken_by_others_of_its_block() -> None:
    """Those of the next block wait until it has started."""

    async def run() -> list[Trial]:
        admitted = Admission(ADAPTED)
        sensitive(admitted)
        later = LIGHT.model_copy(update={"block": LIGHT.block + 1})
        return await begun(admitted, [LIGHT, LIGHT, LIGHT, OTHER, LIGHT, later])

    assert asyncio.run(run()) == [LIGHT] * 4


def test_nothing_starts_beside_an_attempt_that_would_not_tolerate_it() -> None:
    """It tolerates half a CPU: two attempts of a fifth, and not three."""

    async def run() -> list[Trial]:
        admitted = Admission(ADAPTED)
        sensitive(admitted)
        return await begun(admitted, [OTHER, *[LIGHT] * 5])

    assert asyncio.run(run()) == [OTHER, LIGHT, LIGHT]


def test_strained_attempts_of_a_sensitive_client_leave_the_budget() -> None:
    """They say nothing of the others."""

    async def run() -> tuple[float, float]:
        admitted = Admission(ADAPTED)
        sensitive(admitted)
        before = admitted.budget
        await ended(admitted, 0.0, 1.1, 1.1, trial=OTHER, cpus=0.5)
        return before, admitted.budget

    before, after = asyncio.run(run())
    assert after == before


def test_after_closing_no_attempt_begins() -> None:
    """The attempt under way ends, and those that wait end without one."""

    async def run() -> tuple[int, list[Record | None]]:
        admitted, begun = Admission(Parallelism(1)), 0

        async def attempt(_: object) -> Record:
            nonlocal begun
            begun += 1
            await asyncio.sleep(0)
            admitted.close()
            return record(LIGHT, 0.0)

        records = await asyncio.gather(*(admitted.run(LIGHT, attempt) for _ in range(5)))
        return begun, [*records, await admitted.run(LIGHT, attempt)]

    begun, (first, *others) = asyncio.run(run())
    assert begun == 1
    assert first is not None
    assert others == [None] * 5


def test_a_cancelled_attempt_leaves_its_turn() -> None:
    """Whether it waited, or its turn had come."""

    async def run() -> int:
        admitted = Admission(Parallelism(1))
        gate = asyncio.Event()

        async def attempt(_: object) -> None:
            await gate.wait()

        async with asyncio.TaskGroup() as group:
            group.create_task(admitted.run(LIGHT, attempt))
            await asyncio.sleep(0)
            cancelled = [group.create_task(admitted.run(LIGHT, attempt)) for _ in range(2)]
            await asyncio.sleep(0)
            cancelled[1].cancel()
            gate.set()
            await asyncio.sleep(0)
            cancelled[0].cancel()
        return await most_at_once(admitted, [LIGHT] * 2)

    assert asyncio.run(run()) == 1


def test_nobody_asks_for_the_demand_of_a_fixed_number_of_attempts() -> None:
    """It would cost time and change nothing."""

    async def run() -> None:
        async def attempt(report: ReportDemand | None) -> Record:
            assert report is None
            return record(LIGHT, 0.0)

        await Admission(Parallelism(2)).run(LIGHT, attempt)

    asyncio.run(run())


def test_a_failed_attempt_leaves_its_room() -> None:
    """An exception ends an attempt like any other end."""

    async def run() -> int:
        admitted = Admission(Parallelism(1))

        async def attempt(_: object) -> Record:
            raise OSError

        with pytest.raises(OSError, match=r"^$"):
            await admitted.run(LIGHT, attempt)
        return await most_at_once(admitted, [LIGHT] * 2)

    assert asyncio.run(run()) == 1
