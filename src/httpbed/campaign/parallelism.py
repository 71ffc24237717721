"""How many trials run at a time.

Either a fixed number, or as many as the machine can carry without disturbing them. The latter is
found as TCP finds its share of a link, by additive increase and multiplicative decrease (Chiu and
Jain, "Analysis of the increase and decrease algorithms", 1989). Each attempt's CPU pressure is the
signal. Each attempt without much pressure raises the number by one. An attempt that is invalid
because the machine was busy lowers the number by a quarter, once for all attempts that ran then, so
that its retry has fewer neighbours. Trials need very different shares of a CPU: if one heavy trial
halved the number, a design with a few of them would hardly run anything side by side. One trial for
each CPU always runs, so that a transfer of minutes keeps no others waiting.
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
INCREASE = 1.0
"""Added after each calm attempt. Attempts last from a second to minutes, so that an increase per
round of them would take hours to recover from one burst of browser starts."""
DECREASE = 0.75
"""The number is multiplied by it after a strained attempt."""
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
    """Lets so many attempts run at a time, and learns from each."""

    def __init__(self, parallelism: Parallelism) -> None:
        self._parallelism = parallelism
        self._limit = float(parallelism.most)
        if parallelism.adapts:
            self._limit = self._least
        self._running = 0
        self._started = 0
        self._reduced_after = 0
        """Number of the last attempt that had started when the limit was lowered."""
        self._changed = asyncio.Condition()

    @property
    def limit(self) -> int:
        """How many attempts may run now."""
        return int(self._limit)

    @property
    def _least(self) -> float:
        return float(min(self._parallelism.most, os.cpu_count() or 1))

    async def run(self, attempt: Callable[[], Awaitable[Record]]) -> Record:
        """Wait for a free slot, run the attempt in it, and learn from its record."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._running < self.limit)
            self._running += 1
            self._started += 1
        number = self._started
        try:
            record = await attempt()
            self._learn(record.attempt, number)
            return record
        finally:
            async with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _learn(self, attempt: Attempt, number: int) -> None:
        if not self._parallelism.adapts:
            return
        if verdict.is_strained(attempt):
            if number > self._reduced_after:
                self._limit = max(self._limit * DECREASE, self._least)
                self._reduced_after = self._started
        elif _is_calm(attempt):
            self._limit = min(self._limit + INCREASE, float(self._parallelism.most))


def _is_calm(attempt: Attempt) -> bool:
    measured = [check.measured for check in attempt.checks if check.check == PRESSURE.id]
    return all(one is not None and one <= CALM_SHARE * PRESSURE.limit for one in measured)
