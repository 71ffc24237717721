"""What the sandbox saw of the CPUs: the times of its own tasks, and of the whole machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NS_PER_S = 1e9


@dataclass(frozen=True)
class TaskTimes:
    """How long a task was on a CPU, and how long it was ready to run without one."""

    ran_s: float
    waited_s: float


@dataclass(frozen=True)
class CpuTimes:
    """How busy the machine's CPUs were for ``over_s`` seconds, and what a sandbox had of them."""

    over_s: float
    busy_s: float
    """Time in which all CPUs together were not idle, steal included, niced programs not."""
    tasks: Sequence[TaskTimes]
    """The sandbox's tasks that ran or waited, in no order."""
    unseen_s: float = 0.0
    """CPU time of tasks that lived between two readings; nothing else is known of them."""

    @property
    def ran_s(self) -> float:
        """CPU time of all tasks together."""
        return sum(task.ran_s for task in self.tasks) + self.unseen_s


def read(event: Mapping[str, Any]) -> CpuTimes:
    """Read the sandbox's event ``cpu_times``."""
    tasks = [
        TaskTimes(one["ran_ns"] / NS_PER_S, one["waited_ns"] / NS_PER_S) for one in event["tasks"]
    ]
    over_s, busy_s, unseen_s = (
        event[name] / NS_PER_S for name in ("over_ns", "busy_ns", "unseen_ns")
    )
    return CpuTimes(over_s, busy_s, tasks, unseen_s)
