"""How the demand of a trial is reported while its clients run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from httpbed.base.errors import BedError
from httpbed.bed.sandbox.supervisor import CpuTimes, TaskTimes
from httpbed.trial.run import cpu_use
from httpbed.trial.run.cpu_use import DemandReports

Reading = tuple[float, float, float]
"""Seconds of the watch, of CPU time of all tasks, and of the emulator's polling in it."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_use, "PERIOD_S", 0.0)


async def reported(readings: Sequence[Reading | Exception]) -> list[float]:
    left, demands, ended = list(readings), list[float](), asyncio.Event()

    def report(cpus: float) -> None:
        demands.append(cpus)

    async def cpu_times() -> CpuTimes:
        reading = left.pop(0)
        if isinstance(reading, Exception):
            raise reading
        over_s, ran_s, _ = reading
        return CpuTimes(over_s, over_s, [TaskTimes(ran_s / 2, 0.0), TaskTimes(ran_s / 2, 0.0)])

    async def send(order: str) -> None:
        assert order == "counters"
        if not left:
            ended.set()
            return
        polled_s = 0.0 if isinstance(left[0], Exception) else left[0][2]
        reports.counters.put_nowait({"polled_ns": polled_s * 1e9, "cpu_ns": 1e12})

    supervisor: Any = SimpleNamespace(cpu_times=cpu_times)
    emulator: Any = SimpleNamespace(send=send)
    reports = DemandReports(supervisor, report)
    async with reports.reported(emulator):
        waiting = {asyncio.ensure_future(ended.wait())}
        await asyncio.wait(waiting, timeout=0.2)
    return demands


def test_polling_is_no_demand() -> None:
    """The emulator polls only while no other process needs the CPUs."""
    assert asyncio.run(reported([(2.0, 1.0, 0.6)])) == pytest.approx([0.2])


def test_the_start_of_a_program_soon_counts_little() -> None:
    """One second of CPU time, and then a hundredth of a CPU for half a minute."""
    readings = [(2.0 * n, 1.0 + 0.02 * (n - 1), 0.0) for n in range(1, 16)]
    demands = asyncio.run(reported(readings))
    assert demands[0] == pytest.approx(0.5)
    assert demands == sorted(demands, reverse=True)
    assert demands[5] < 0.03
    assert demands[-1] == pytest.approx(0.01, rel=0.01)


def test_a_reading_that_is_not_new_gives_no_report() -> None:
    """On a busy machine the sandbox may have read nothing meanwhile."""
    readings = [(0.0, 0.0, 0.0), (2.0, 1.0, 0.0), (2.0, 1.0, 0.0), (4.0, 2.0, 0.0)]
    assert asyncio.run(reported(readings)) == pytest.approx([0.5, 0.5])


def test_no_demand_is_negative() -> None:
    """Polling is counted up to now, CPU times up to the last reading."""
    assert asyncio.run(reported([(2.0, 1.0, 1.1)])) == [0.0]


def test_a_sandbox_that_counts_nothing_ends_the_reports_and_not_the_trial() -> None:
    """A kernel may lack the account of tasks."""
    refused = BedError("the sandbox refused to read_cpu_watch: no watch has begun")
    assert asyncio.run(reported([refused])) == []


def test_a_fault_in_the_reports_is_not_hidden() -> None:
    """It would leave every attempt with its estimate."""
    with pytest.raises(ZeroDivisionError):
        asyncio.run(reported([ZeroDivisionError()]))


def test_the_end_of_the_clients_ends_the_reports() -> None:
    """Also while the emulator's answer is missing."""

    async def run() -> int:
        async def send(_: str) -> None:
            return

        supervisor: Any = SimpleNamespace()
        emulator: Any = SimpleNamespace(send=send)

        def report(_: float) -> None:
            raise AssertionError

        async with DemandReports(supervisor, report).reported(emulator):
            await asyncio.sleep(0.01)
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1
