"""How many trials run at a time."""

from __future__ import annotations

import os
from dataclasses import dataclass

from httpbed.base.clock import Clock

MAX_PER_CPU = 24
"""Upper bound of adapted parallelism. A download at 10 Mbit/s takes a tenth of a CPU, so that the
CPUs are the limit; slower downloads take less, and so many at a time were never compared."""


@dataclass(frozen=True)
class Parallelism:
    """The number of trials that run at a time."""

    most: int
    adapts: bool = False
    """Whether it follows the machine's pressure; ``most`` is then the upper bound."""
    processes: int = 1
    """Processes on this machine that run trials at the same time, each with an equal share of the
    CPUs."""

    def by_clock(self, clock: Clock) -> Parallelism:
        """Return the parallelism for this clock; guests take a CPU each and disturb nothing."""
        return Parallelism(cpus()) if clock == "virtual" and self.adapts else self

    def __str__(self) -> str:
        return f"auto, at most {self.most}" if self.adapts else str(self.most)


ONE = Parallelism(1)


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def adapted(processes: int = 1) -> Parallelism:
    """Return the parallelism that follows this machine's pressure, in each of so many processes."""
    most = max(1, MAX_PER_CPU * cpus() // processes)
    return Parallelism(most, adapts=True, processes=processes)
