"""CPU pressure on a trial: the time during which its tasks waited because others had the CPUs.

Neither a wait of another process nor a wait that the trial's own programs cause each other changes
what a trial beside others would have given alone. So two figures are multiplied:

* The share of the time in which some task of the trial waited. The sandbox reports how long each
  task waited, but not which waits overlapped. If tasks wait independently of each other, and task
  ``i`` waits the share ``w_i``, then some task waits the share ``1 - prod(1 - w_i)``.
* The share of the busy CPU time that went to others: other processes, the kernel's own threads and
  the host of a virtual machine (steal). While a task waits, the CPUs run what runs at all.

A kernel without these counters (CONFIG_SCHED_INFO) leaves the machine's pressure, which counts the
waits of all processes.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from httpbed.base.errors import BedError
from httpbed.bed.machine import machine_load
from httpbed.bed.machine.machine_load import PressureReading
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.sandbox_spec import polled_s
from httpbed.bed.sandbox.supervisor import CpuTimes, Supervisor


@dataclass(frozen=True)
class CpuPressure:
    """The pressure on a trial since :meth:`begin`."""

    supervisor: Supervisor
    by_task: bool
    """Whether this kernel counts the times of each task."""
    machine: PressureReading

    @classmethod
    async def begin(cls, supervisor: Supervisor) -> CpuPressure:
        """Begin to measure."""
        return cls(supervisor, await supervisor.watch_cpu(), machine_load.read_pressure())

    async def end(self) -> dict[str, Any]:
        """Return the pressure as evidence: source, seconds of waiting, and over how many."""
        machine = machine_load.read_pressure()
        if not self.by_task:
            waited_s, over_s = (
                machine.seconds - self.machine.seconds,
                machine.at_s - self.machine.at_s,
            )
            return {"source": machine.source, "seconds": waited_s, "over_s": over_s}
        times = await self.supervisor.end_cpu_watch()
        waited_s = some_task_waited_s(times) * others_share(times)
        seconds = {"seconds": waited_s, "over_s": times.over_s, "ran_s": times.ran_s}
        return {"source": machine_load.BY_TASK, **seconds}


def some_task_waited_s(times: CpuTimes) -> float:
    """Estimate the seconds in which at least one of the tasks waited."""
    if times.over_s <= 0:
        return 0.0
    all_but = (max(1 - task.waited_s / times.over_s, 0.0) for task in times.tasks)
    return times.over_s * (1 - math.prod(all_but))


def others_share(times: CpuTimes) -> float:
    """Return the share of the busy time that the tasks did not use."""
    if times.busy_s <= 0:
        return 0.0
    return max(1 - times.ran_s / times.busy_s, 0.0)


# The demand of a trial while its clients run: how many CPUs it needs.
#
# The sandbox counts the CPU time of all its tasks. The emulator counts the part of it that it
# polled, which is no demand: it polls only while no other process needs the CPUs.


PERIOD_S = 2.0
"""Time between two reports."""
WEIGHT_OF_NEW = 0.5
"""The weight of the latest period in a report (exponential smoothing). After some ten seconds, the
start of a program no longer counts."""

ReportDemand = Callable[[float], None]
"""Takes the number of CPUs that the trial needs."""


@dataclass(frozen=True)
class DemandReports:
    """Reports the demand every :data:`PERIOD_S`, until the clients have ended."""

    supervisor: Supervisor
    report: ReportDemand | None
    """None if no demand is to be reported."""
    counters: asyncio.Queue[Mapping[str, Any]] = field(default_factory=asyncio.Queue)
    """The emulator's events of this name, which the reader of its events puts here."""

    @asynccontextmanager
    async def reported(self, emulator: Emulator) -> AsyncIterator[None]:
        """Report the demand while the context lasts; the sandbox must watch the CPU times."""
        if self.report is None:
            yield
            return
        reporting = asyncio.create_task(self._repeat(emulator, self.report))
        try:
            yield
        finally:
            reporting.cancel()
            ended = (await asyncio.gather(reporting, return_exceptions=True))[0]
        if isinstance(ended, Exception) and not isinstance(ended, BedError):
            raise ended  # a fault of httpbed; a BedError also ends the clients' run

    async def _repeat(self, emulator: Emulator, report: ReportDemand) -> None:
        needed_s = over_s = demand = 0.0
        while True:
            await asyncio.sleep(PERIOD_S)
            await emulator.send("counters")
            counters = await self.counters.get()
            times = await self.supervisor.cpu_times()
            if times.over_s <= over_s:
                continue  # a busy machine: there was no further reading
            before_s, since_s = needed_s, over_s
            needed_s, over_s = times.ran_s - polled_s(counters), times.over_s
            latest = (needed_s - before_s) / (over_s - since_s)
            demand += (WEIGHT_OF_NEW if since_s else 1.0) * (latest - demand)
            report(max(demand, 0.0))
