"""What trials cost this machine: CPU and wall seconds, with the load beside."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.clocks.grid import Cell

from httpbed.base.clock import Clock

COSTS = "costs.jsonl"
"""Name of the file with a line for each run of a cell by a clock."""


@dataclass(frozen=True)
class Cost:
    """What some trials of a cell by a clock cost."""

    clock: Clock
    cell: Cell
    trials: int
    cpu_s: float
    """Of this process and of all processes that it started."""
    wall_s: float
    """Trials that run at a time share it."""
    load: float
    """The machine's load average when they began: what others need, and the cells before."""


def cpu_s() -> float:
    """Return the CPU time of this process and of its ended descendants."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@contextmanager
def noted(folder: Path, clock: Clock, cell: Cell, trials: int) -> Iterator[None]:
    """Append a line with what the context costs, if it ends without an exception."""
    cpu, wall, load = cpu_s(), time.monotonic(), os.getloadavg()[0]
    yield
    cost = Cost(clock, cell, trials, cpu_s() - cpu, time.monotonic() - wall, load)
    with (folder / COSTS).open("a") as file:
        file.write(json.dumps(asdict(cost)) + "\n")


def read(folder: Path) -> list[Cost]:
    """Read the costs of all runs."""
    if not (folder / COSTS).exists():
        return []
    lines = (json.loads(line) for line in (folder / COSTS).read_text().splitlines())
    return [Cost(**{**line, "cell": tuple(line["cell"])}) for line in lines]
