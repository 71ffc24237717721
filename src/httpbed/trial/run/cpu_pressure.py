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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.host import pressure
from httpbed.host.pressure import PressureReading
from httpbed.host.sandbox.supervisor import Supervisor, TaskTimes

SOURCE = "schedstat"


@dataclass(frozen=True)
class CpuPressure:
    """The pressure on a trial since :meth:`begin`."""

    supervisor: Supervisor
    by_task: bool
    """Whether this kernel counts the times of each task."""
    machine: PressureReading
    busy_s: float

    @classmethod
    async def begin(cls, supervisor: Supervisor) -> CpuPressure:
        """Begin to measure."""
        by_task = await supervisor.watch_cpu()
        return cls(supervisor, by_task, pressure.read(), pressure.busy_s())

    async def end(self) -> dict[str, Any]:
        """Return the pressure as evidence: source, seconds of waiting, and over how many."""
        machine, busy_s = pressure.read(), pressure.busy_s() - self.busy_s
        over_s = machine.at_s - self.machine.at_s
        if not self.by_task:
            waited_s = machine.seconds - self.machine.seconds
            return {"source": machine.source, "seconds": waited_s, "over_s": over_s}
        tasks = await self.supervisor.end_cpu_watch()
        seconds = some_task_waited_s(tasks, over_s) * others_share(tasks, busy_s)
        return {"source": SOURCE, "seconds": seconds, "over_s": over_s}


def some_task_waited_s(tasks: Sequence[TaskTimes], over_s: float) -> float:
    """Estimate the seconds out of ``over_s`` in which at least one of the tasks waited."""
    if over_s <= 0:
        return 0.0
    return over_s * (1 - math.prod(max(1 - task.waited_s / over_s, 0.0) for task in tasks))


def others_share(tasks: Sequence[TaskTimes], busy_s: float) -> float:
    """Return the share of ``busy_s`` seconds of all CPUs that the tasks did not use."""
    if busy_s <= 0:
        return 0.0
    return max(1 - sum(task.ran_s for task in tasks) / busy_s, 0.0)
