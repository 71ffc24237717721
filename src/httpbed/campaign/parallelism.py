"""How many trials run at a time.

Either a fixed number, or as many as the machine can carry without disturbing them. The latter is
found as TCP finds its share of a link, by additive increase and multiplicative decrease (Chiu and
Jain, "Analysis of the increase and decrease algorithms", 1989). Each attempt's CPU pressure is the
signal. Each attempt without much pressure raises the number by a half. An attempt that is invalid
because the machine was busy halves the number, once for all attempts that ran then. Its retry takes
the slots of two trials, the next retry those of four.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from httpbed.experiment.check import PRESSURE
from httpbed.experiment.trial import Attempt, Record
from httpbed.trial import verdict

MOST_PER_CPU = 8
"""Upper bound of adapted parallelism: a download of 10 Mbit/s takes about a tenth of a CPU."""
INCREASE = 0.5
"""Added after each calm attempt. Attempts last from a second to minutes, so that an increase per
round of them would take hours to recover from one burst of browser starts."""
CALM_SHARE = 0.5
"""Up to this share of the limit of CPU pressure there is room for another trial."""


@dataclass(frozen=True)
class Parallelism:
    """The number of trials that run at a time."""

    most: int
    adapts: bool = False
    """Whether it follows the pressure; ``most`` is then the upper bound."""

    def __str__(self) -> str:
        return f"auto, at most {self.most}" if self.adapts else str(self.most)


ONE = Parallelism(1)


def adapted() -> Parallelism:
    """Return the parallelism that follows this machine's pressure."""
    return Parallelism(MOST_PER_CPU * (os.cpu_count() or 1), adapts=True)


class Slots:
    """Lets so many attempts run at a time, in order, and learns from each."""

    def __init__(self, parallelism: Parallelism) -> None:
        self._parallelism = parallelism
        self._limit = float(parallelism.most)
        if parallelism.adapts:
            self._limit = min(self._limit, float(os.cpu_count() or 1))
        self._taken = 0
        self._started = 0
        self._reduced_after = 0
        """Number of the last attempt that had started when the limit was halved."""
        self._entrance = asyncio.Lock()
        """Who waits in it is next, so that a wide attempt is not overtaken for ever."""
        self._changed = asyncio.Condition()

    @property
    def limit(self) -> int:
        """How many slots there are now."""
        return int(self._limit)

    async def run(self, attempt: Callable[[], Awaitable[Record]], *, retry: int = 0) -> Record:
        """Wait for free slots, run the attempt in them, and learn from its record.

        Where parallelism is adapted, each retry takes twice the slots of the attempt before it, and
        so has fewer neighbours.
        """
        wanted = 2**retry if self._parallelism.adapts else 1
        async with self._entrance, self._changed:
            await self._changed.wait_for(lambda: self._taken + self._width(wanted) <= self.limit)
            width = self._width(wanted)
            self._taken += width
            self._started += 1
        number = self._started
        try:
            record = await attempt()
            self._learn(record.attempt, number)
            return record
        finally:
            async with self._changed:
                self._taken -= width
                self._changed.notify_all()

    def _width(self, wanted: int) -> int:
        return min(wanted, self.limit)

    def _learn(self, attempt: Attempt, number: int) -> None:
        if not self._parallelism.adapts:
            return
        if verdict.is_strained(attempt):
            if number > self._reduced_after:
                self._limit = max(self._limit / 2, 1.0)
                self._reduced_after = self._started
        elif _is_calm(attempt):
            self._limit = min(self._limit + INCREASE, float(self._parallelism.most))


def _is_calm(attempt: Attempt) -> bool:
    measured = [check.measured for check in attempt.checks if check.check == PRESSURE.id]
    return all(one is not None and one <= CALM_SHARE * PRESSURE.limit for one in measured)
