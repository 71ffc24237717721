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

import math
from dataclasses import dataclass
from typing import Any

from httpbed.bed.machine import machine_load
from httpbed.bed.machine.machine_load import PressureReading
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
