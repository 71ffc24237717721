"""The settings of a run: which trials, how many at a time, and what they keep.

The command line makes them, and they are passed whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.base.clock import Clock
from httpbed.experiment.factorial import ScaleName
from httpbed.trial.attempt_plan import PlanOptions

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


def adapted_parallelism(processes: int = 1) -> Parallelism:
    """Return the parallelism that follows this machine's pressure, in each of so many processes."""
    most = max(1, MAX_PER_CPU * cpus() // processes)
    return Parallelism(most, adapts=True, processes=processes)


@dataclass(frozen=True)
class DesignOptions:
    """Which trials of an experiment's design a campaign runs, and by which clock."""

    scale: ScaleName | None = None
    """None for all of the design."""
    for_claims: bool = False
    """Whether only the trials run that the experiment's claims need."""
    replicates: int | None = None
    """The number of blocks in place of the file's own, at every scale."""
    blocks: tuple[int, int] | None = None
    """The first and the last block of a part of the campaign; None for all."""
    until: str | None = None
    """A width of interval (:func:`~httpbed.experiment.experiment.parse_width`) at which a treatment
    stops before its last block."""
    clock: Clock | None = None
    """The clock in place of the file's own."""


@dataclass(frozen=True, kw_only=True)
class RunSettings(PlanOptions):
    """How a campaign runs: everything but the experiment and its programs.

    What its trials are planned with is inherited, so an option of theirs is one field.
    """

    command: str
    """The command line that started it, for the manifest."""
    jobs: Parallelism = ONE
    """Trials side by side."""
    clock_reason: str = ""
    """Why httpbed chose the clock of the trials; empty if the user did."""
    sources: Mapping[str, Any] = field(default_factory=dict)
    """Where recipes and programs come from, for the manifest."""
    added: Mapping[str, Any] = field(default_factory=dict)
    """The values of the options that addons add, by their parameters."""
