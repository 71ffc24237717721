"""Which attempt starts next, and how waiting ones end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from admitted_attempts import ADAPTED, CPUS, LIGHT, OTHER, ended, most_at_once, record, sensitive
from httpbed.campaign import admission
from httpbed.campaign.admission import Admission
from httpbed.campaign.demand import LOWER, Keys
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.trial import Record, Trial
from httpbed.trial.run.cpu_use import ReportDemand

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


def test_one_that_needs_more_than_there_is_room_for_is_overtaken() -> None:
    """It starts when the transfers that keep its room have ended, or as the last of its block."""

    async def run() -> list[Trial]:
        admitted = Admission(ADAPTED)
        admitted.learn_demands([record(LIGHT, 0.0, 0.4).attempt, record(OTHER, 0.0, 3.0).attempt])
        later = LIGHT.model_copy(update={"block": LIGHT.block + 1})
        return await begun(admitted, [*[LIGHT] * 3, OTHER, LIGHT, later])

    assert asyncio.run(run()) == [LIGHT] * 4


def test_strained_attempts_of_a_sensitive_client_leave_the_budget() -> None:
    """Their own tolerance is the reason."""

    async def run() -> list[float]:
        admitted = Admission(ADAPTED)
        sensitive(admitted)
        admitted._change_to(CPUS)
        budgets = []
        for trial in (OTHER, LIGHT):
            await ended(admitted, 1.1, trial=trial, cpus=0.5)
            budgets.append(admitted.budget / CPUS)
        return budgets

    most = admission.MAX_SHARE
    assert asyncio.run(run()) == pytest.approx([most, most * admission.DECREASE])


def test_an_attempt_learns_from_the_largest_demand_beside_it() -> None:
    """It began alone, and others joined it."""

    async def run() -> float:
        admitted, gate = Admission(ADAPTED), asyncio.Event()
        sensitive(admitted)
        before = admitted._demands.tolerance(Keys.of(OTHER), 0.5)

        async def attempt(trial: Trial, share: float, _: object) -> Record:
            await gate.wait()
            return record(trial, share)

        async with asyncio.TaskGroup() as group:
            group.create_task(admitted.run(OTHER, partial(attempt, OTHER, 1.1)))
            await asyncio.sleep(0.01)
            group.create_task(admitted.run(LIGHT, partial(attempt, LIGHT, 0.0)))
            await asyncio.sleep(0.01)
            gate.set()
        return admitted._demands.tolerance(Keys.of(OTHER), 0.5) / before

    assert asyncio.run(run()) == pytest.approx(LOWER)


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


def test_attempts_that_are_cancelled_together_raise_nothing_else() -> None:
    """Those under way, those whose turn has come, and those that wait; SIGTERM cancels all."""

    async def run() -> list[BaseException | Record | None]:
        admitted = Admission(Parallelism(2))

        async def attempt(_: object) -> Record:
            await asyncio.Event().wait()
            raise AssertionError

        tasks = [asyncio.create_task(admitted.run(LIGHT, attempt)) for _ in range(6)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert await most_at_once(admitted, [LIGHT] * 5) == 2
        return ended

    assert [type(one) for one in asyncio.run(run())] == [asyncio.CancelledError] * 6


@pytest.mark.parametrize("parallelism", [Parallelism(1), ADAPTED])
def test_a_cancelled_attempt_leaves_its_turn(parallelism: Parallelism) -> None:
    """Whether it waited, or its turn had just come."""

    async def run() -> int:
        admitted, gate = Admission(parallelism), asyncio.Event()

        async def attempt(_: object) -> Record:
            await gate.wait()
            return record(LIGHT, 1.0)

        async with asyncio.TaskGroup() as group:
            group.create_task(admitted.run(LIGHT, attempt))
            await asyncio.sleep(0)
            cancelled = [group.create_task(admitted.run(LIGHT, attempt)) for _ in range(2)]
            await asyncio.sleep(0)
            cancelled[1].cancel()
            gate.set()
            await asyncio.sleep(0)
            cancelled[0].cancel()
        assert admitted.under_way == 0
        return await most_at_once(admitted, [LIGHT] * 2)

    assert asyncio.run(run()) == min(2, parallelism.most)


def test_a_fixed_number_of_attempts_reports_no_demand() -> None:
    """The reports would cost time and change nothing."""

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
