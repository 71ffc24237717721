"""How many attempts run side by side, and what the number learns from."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from admitted_attempts import ADAPTED, CPUS, LIGHT, OTHER, ended, most_at_once, record, sensitive
from httpbed.bed.machine import machine_load
from httpbed.campaign import admission, demand
from httpbed.campaign.admission import DECREASE, Admission
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.trial import Record, Trial
from httpbed.trial.run.cpu_use import ReportDemand

pytestmark = pytest.mark.usefixtures("four_idle_cpus")


@pytest.mark.parametrize("jobs", [1, 3, 12])
def test_a_fixed_number_stays(jobs: int) -> None:
    """Whatever the pressure was, and however much the attempts need."""

    async def run() -> int:
        admitted = Admission(Parallelism(jobs))
        await ended(admitted, 0.0, 2.0, 2.0, cpus=9.0)
        return await most_at_once(admitted, [LIGHT] * 20)

    assert asyncio.run(run()) == jobs


def test_as_many_run_as_their_demand_allows() -> None:
    """Half of four CPUs have room for ten attempts of a fifth each."""

    async def run() -> int:
        admitted = Admission(ADAPTED)
        await ended(admitted, 0.0, cpus=0.2)
        return await most_at_once(admitted, [LIGHT] * 30)

    assert asyncio.run(run()) in {9, 10}


def test_of_attempts_that_need_more_than_there_is_one_runs() -> None:
    """Each of them has more demand than half of the budget has room for."""

    async def run() -> int:
        admitted = Admission(ADAPTED)
        await ended(admitted, 0.0, cpus=3.0)
        return await most_at_once(admitted, [LIGHT] * 3)

    assert asyncio.run(run()) == 1


def test_without_memory_for_another_attempt_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each starts when the one before has ended."""
    monkeypatch.setattr(machine_load, "available_bytes", lambda: admission.MIN_AVAILABLE_BYTES - 1)

    async def run() -> int:
        admitted = Admission(ADAPTED)
        await ended(admitted, 0.0, cpus=0.2)
        return await most_at_once(admitted, [LIGHT] * 5)

    assert asyncio.run(run()) == 1


def test_an_attempt_that_needs_much_runs_beside_some_that_need_little() -> None:
    """It does not wait until the last of them has ended."""

    async def run() -> int:
        admitted = Admission(ADAPTED)
        await ended(admitted, 0.0, cpus=3.0)
        return await most_at_once(admitted, [OTHER] * 4 + [LIGHT])

    assert asyncio.run(run()) == 5


def test_no_more_than_the_bound_run_however_little_they_need() -> None:
    """More at a time were never compared with one at a time."""

    async def run() -> int:
        admitted = Admission(Parallelism(5, adapts=True))
        await ended(admitted, 0.0, cpus=0.0)
        return await most_at_once(admitted, [LIGHT] * 30)

    assert asyncio.run(run()) == 5


def test_strained_attempts_lower_the_budget_down_to_its_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many are strained; those that went well leave it."""
    monkeypatch.setattr(machine_load, "idle_s", lambda: 0.0)

    async def run() -> list[float]:
        admitted, budgets = Admission(ADAPTED), list[float]()
        admitted._change_to(CPUS)
        for shares in ([0.0] * 10, [1.1], [1.1] * 100):
            await ended(admitted, *shares)
            budgets.append(admitted.budget)
        return budgets

    most, least = admission.MAX_SHARE * CPUS, admission.MIN_SHARE * CPUS
    assert asyncio.run(run()) == pytest.approx([most, most * DECREASE, least])


def test_an_attempt_that_tolerates_little_starts_while_a_cpu_is_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What others need on average does not show that they are starting."""
    monkeypatch.setattr(machine_load, "idle_s", lambda: 0.0)
    monkeypatch.setattr(admission, "MAX_WAIT_S", 60.0)

    async def run() -> None:
        admitted = Admission(ADAPTED)
        sensitive(admitted)
        light, delicate, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def attempt(trial: Trial, began: asyncio.Event, _: object) -> Record:
            began.set()
            await gate.wait()
            return record(trial, 0.0)

        async with asyncio.TaskGroup() as group:
            for trial, began in ((LIGHT, light), (OTHER, delicate)):
                group.create_task(admitted.run(trial, partial(attempt, trial, began)))
            await asyncio.sleep(0.02)
            assert (light.is_set(), delicate.is_set()) == (True, False)
            monkeypatch.setattr(machine_load, "idle_s", lambda: CPUS * time.monotonic())
            await asyncio.wait_for(delicate.wait(), 5)
            gate.set()

    asyncio.run(run())


def test_beside_other_processes_an_attempt_waits_for_an_idle_cpu_even_if_it_is_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What runs in the worker's other slots cannot be counted."""
    looks = list[float]()

    def idle_s() -> float:
        looks.append(time.monotonic())
        return CPUS * time.monotonic()

    monkeypatch.setattr(machine_load, "idle_s", idle_s)

    async def run(processes: int) -> int:
        admitted = Admission(Parallelism(32, adapts=True, processes=processes))
        looks.clear()
        sensitive(admitted)
        await most_at_once(admitted, [OTHER])
        return len(looks)

    assert asyncio.run(run(1)) == 0
    assert asyncio.run(run(2)) > 0


def test_demands_of_earlier_runs_are_known() -> None:
    """A resumed campaign does not learn them anew."""

    async def run() -> int:
        admitted = Admission(ADAPTED)
        admitted.learn_demands([record(LIGHT, 0.0, 2.0).attempt])
        return await most_at_once(admitted, [LIGHT] * 3)

    assert asyncio.run(run()) == 1


APART_S = 0.049
"""Below the 0.05 s that a set-up takes in these tests by what a timer may fire early. Measured from
the call: an attempt that the scheduler woke late says nothing of the one after it."""


async def starts_s(admitted: Admission) -> list[float]:
    """Run three attempts side by side; return how long after the call each began."""
    called_at_s = time.monotonic()
    began: list[float] = []
    every = asyncio.Event()

    async def attempt(_: object) -> Record:
        began.append(time.monotonic() - called_at_s)
        if len(began) == 3:
            every.set()
        await asyncio.wait_for(every.wait(), 60)
        return record(LIGHT, 0.0)

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(admitted.run(LIGHT, attempt))
    return began


def test_attempts_start_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set-up of each takes a CPU."""
    monkeypatch.setattr(admission, "SETUP_S", CPUS * 0.05)
    _, second, third = asyncio.run(starts_s(Admission(ADAPTED)))
    assert second > APART_S
    assert third > 2 * APART_S


def test_processes_that_share_the_cpus_start_their_attempts_further_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Together they begin as many set-ups as one process alone."""
    monkeypatch.setattr(admission, "SETUP_S", CPUS * 0.025)
    shared = Parallelism(32, adapts=True, processes=2)
    _, second, third = asyncio.run(starts_s(Admission(shared)))
    assert second > APART_S
    assert third > 2 * APART_S


def test_a_number_of_jobs_starts_attempts_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who asks for three at a time gets them."""
    monkeypatch.setattr(admission, "SETUP_S", CPUS * 1000.0)
    assert len(asyncio.run(starts_s(Admission(Parallelism(3))))) == 3


def test_a_reported_demand_replaces_the_estimate() -> None:
    """Long attempts at unknown treatments do not keep room that they do not need."""

    async def run(needed: float | None) -> int:
        admitted, others = Admission(ADAPTED), 0
        ended = asyncio.Event()

        async def attempt(trial: Trial, report: ReportDemand | None) -> Record:
            nonlocal others
            others += trial is OTHER
            if trial is LIGHT and report and needed is not None:
                report(needed)
            await ended.wait()
            return record(trial, 0.0)

        async with asyncio.TaskGroup() as group:
            for trial in [LIGHT] * 10 + [OTHER] * 10:
                group.create_task(admitted.run(trial, partial(attempt, trial)))
            await asyncio.sleep(0.1)
            begun = others
            ended.set()
        return begun

    assert demand.UNKNOWN_DEMAND * 10 == admission.MIN_SHARE * CPUS
    assert asyncio.run(run(None)) == 0
    assert asyncio.run(run(0.1)) == 5


@pytest.mark.parametrize(("idle", "trials"), [(0.0, 100), (0.9, 100), (0.9, 5)])
def test_idle_cpus_raise_a_budget_that_keeps_attempts_waiting(
    monkeypatch: pytest.MonkeyPatch, idle: float, trials: int
) -> None:
    """Attempts that take minutes report their demand; five do not fill the budget."""
    monkeypatch.setattr(admission, "IDLE_LOOK_S", 0.0)
    monkeypatch.setattr(machine_load, "idle_s", lambda: idle * CPUS * time.monotonic())

    async def run() -> float:
        admitted = Admission(ADAPTED)

        async def attempt(report: ReportDemand | None) -> Record:
            for _ in range(50):
                await asyncio.sleep(0.001)
                assert report
                report(0.2)
            return record(LIGHT, 0.0)

        budgets = []
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(admitted.run(LIGHT, attempt)) for _ in range(trials)]
            running[0].add_done_callback(lambda _: budgets.append(admitted.budget))
        return budgets[0]

    least, most = admission.MIN_SHARE * CPUS, admission.MAX_SHARE * CPUS
    raised = idle > 0 and trials == 100
    assert asyncio.run(run()) == pytest.approx(most if raised else least)
