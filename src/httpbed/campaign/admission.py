"""Admits attempts: as many at a time as the machine can carry without disturbing them.

# Theory of operation

A download over an emulated link takes a twentieth of a CPU, the start of a browser more than a
whole one. So what is limited is not the number of attempts but their demand: the CPUs that they
need. An attempt under way tells its own, beginning some seconds after its client's start. Until
then it is taken to need what attempts at the same treatment used, learnt from those that ended. The
network matters most: a page that loads in 1 s needs a CPU, the same page needs a fifteenth of one
over a link on which it takes 50 s. Until an attempt at a treatment has ended, its kind tells: the
same roles and workload over any network.

While the client runs, the kernel counts the CPU time of the trial's processes. The set-up before it
and the judging after it take CPU time, too, which no counter of the trial has. An attempt is
assumed to need :data:`OVERHEAD_S` for them. So a download of 0.1 s needs much more than one of
10 s, and fewer of them run at a time.

How much demand the machine can carry is found as TCP finds its share of a link, by additive
increase and multiplicative decrease (Chiu and Jain, "Analysis of the increase and decrease
algorithms", 1989). The signal is each attempt's CPU pressure. An attempt with little of it raises
the budget. One that is invalid because the machine was busy lowers it, once for all attempts that
ran at that time. It had fewer CPUs than it needed, so it lowers no demand.

Attempts enter in order. One with much demand waits for room, and those behind it wait, too;
otherwise small ones would keep it out for ever. It waits for some seconds only, because transfers
of minutes may keep the room; if it is then disturbed, that shows.

A mean does not show that a set-up needs a whole CPU. So attempts start one after the other, with
the time of a set-up between them. Nor does it show that a page load needs all CPUs while the
browser starts and lays out, and nearly none while it waits for the network. So an attempt of a kind
with much demand starts only while a CPU is idle, and some more time after the start before it.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from httpbed.campaign import parallelism
from httpbed.campaign.parallelism import Parallelism
from httpbed.experiment.check import PRESSURE
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.host import pressure
from httpbed.trial import verdict
from httpbed.trial.run.demand import Tell

R = TypeVar("R", Record, Record | None)
LEAST_SHARE, MOST_SHARE = 0.5, 0.9
"""Smallest and largest budget, as shares of the CPUs of this process; it begins with the
smallest."""
INCREASE_SHARE = 0.03
"""Added after each calm attempt."""
DECREASE = 0.95
"""The budget is multiplied by it after a strained attempt."""
CALM_SHARE = 0.5
"""Up to this share of the limit of CPU pressure, an attempt is calm."""
WIDEST_SHARE = 0.5
"""An attempt may start beside others that need up to half of the budget, whatever it needs."""
HEAVY_DEMAND = 0.3
"""An attempt of a kind whose client needs so many CPUs waits for an idle one before it starts."""
START_S = 1.0
"""Times the client's demand: how long the CPUs may look idle although an attempt has started."""
LOOK_S = 0.2
"""Time between two looks at the idle time: twenty ticks of the kernel's clock."""
MOST_WAIT_S = 10.0
"""Longest wait for room, about as long as a download of 10 MB at 10 Mbit/s."""
UNKNOWN_DEMAND = 0.2
"""CPUs that an attempt of an unknown kind is taken to need: more than most downloads and less than
a browser."""
LEAST_DEMAND = 0.02
OVERHEAD_S = 0.15
"""CPU time of an attempt beside that of its client's run: set-up, tear-down, judging, commit."""
SETUP_S = 0.1
"""CPU time of an attempt's set-up."""
WEIGHT_OF_NEW = 0.3
"""Of an attempt's demand in the running mean of its treatment (exponential smoothing)."""


@dataclass
class Demands:
    """How many CPUs attempts at each treatment, and of each kind, use."""

    _of_treatments: dict[TreatmentKey, float] = field(default_factory=dict)
    _of_kinds: dict[str, float] = field(default_factory=dict)
    _of_clients: dict[str, float] = field(default_factory=dict)

    def of(self, trial: Trial) -> float:
        """Return the CPUs that an attempt at a trial will use."""
        of_kind = self._of_kinds.get(_kind(trial), UNKNOWN_DEMAND)
        return max(self._of_treatments.get(treatment_key(trial.levels), of_kind), LEAST_DEMAND)

    def of_client(self, trial: Trial) -> float:
        """Return the CPUs that attempts of the same kind use while their client runs."""
        return self._of_clients.get(_kind(trial), UNKNOWN_DEMAND)

    def learn(self, attempt: Attempt) -> None:
        """Note what an attempt used; a strained one had less than it needed."""
        if attempt.cpus is None:
            return
        treatment, kind = treatment_key(attempt.trial.levels), _kind(attempt.trial)
        whole, strained = _demand(attempt), verdict.is_strained(attempt)
        _note(self._of_treatments, treatment, whole, strained=strained)
        _note(self._of_kinds, kind, whole, strained=strained)
        _note(self._of_clients, kind, attempt.cpus, strained=strained)


def _note(known: dict[Any, float], key: object, cpus: float, *, strained: bool) -> None:
    before = known.get(key, cpus)
    known[key] = max(before, cpus) if strained else before + WEIGHT_OF_NEW * (cpus - before)


def _demand(attempt: Attempt) -> float:
    """Return the CPUs that an attempt needed: while its client ran, or on average if that is more.

    :attr:`Attempt.cpus` must be known.
    """
    of_client, client_s = attempt.cpus or 0.0, attempt.phases_s.get("client", 0.0)
    whole_s = sum(attempt.phases_s.values())
    return max(of_client, (of_client * client_s + OVERHEAD_S) / whole_s) if whole_s else of_client


def _kind(trial: Trial) -> str:
    executed = {name: part for name, part in trial.document.items() if name != "topology"}
    return json.dumps(executed, sort_keys=True)


class Admission:
    """Lets attempts run side by side, and learns from each."""

    def __init__(self, parallelism_: Parallelism) -> None:
        self._most = parallelism_.most
        self._adapts = parallelism_.adapts
        self._demands = Demands()
        self._cpus = parallelism.cpus() / parallelism_.processes
        self._shares_cpus = parallelism_.processes > 1
        """Whether other processes run attempts, which this one cannot count."""
        self._budget = LEAST_SHARE * self._cpus
        self._running: dict[int, float] = {}
        """Demand of each attempt under way, by its number."""
        self._started = 0
        self._lowered_at = 0
        """How many attempts had started when the budget was last lowered."""
        self._started_at_s = -math.inf
        self._started_heavy_at_s = -math.inf
        self._entrance = asyncio.Lock()
        self._changed = asyncio.Condition()

    def learn_demands(self, attempts: Iterable[Attempt]) -> None:
        """Note what attempts of earlier runs used."""
        for attempt in attempts:
            self._demands.learn(attempt)

    @property
    def budget(self) -> float:
        """CPUs that all attempts together may need now."""
        return self._budget

    @property
    def under_way(self) -> int:
        """Number of attempts that run."""
        return len(self._running)

    async def run(self, trial: Trial, attempt: Callable[[Tell | None], Awaitable[R]]) -> R:
        """Wait for room, run an attempt at the trial, and learn from its record, if it left one.

        The attempt may tell meanwhile how many CPUs it needs; None if nobody asks for it.
        """
        async with self._admitted(trial) as number:
            record = await attempt(partial(self._hear, number) if self._adapts else None)
            if self._adapts and record is not None:
                self._learn(record.attempt, number)
            return record

    @asynccontextmanager
    async def _admitted(self, trial: Trial) -> AsyncIterator[int]:
        async with self._entrance:
            async with self._changed:
                with suppress(TimeoutError):
                    room = self._changed.wait_for(lambda: self._has_room(trial))
                    await asyncio.wait_for(room, MOST_WAIT_S)
                await self._changed.wait_for(lambda: len(self._running) < self._most)
            if self._adapts:
                await self._until_it_may_start(self._demands.of_client(trial))
            self._started += 1
            number = self._started
            self._running[number] = self._demands.of(trial)
        try:
            yield number
        finally:
            async with self._changed:
                del self._running[number]
                self._changed.notify_all()

    async def _until_it_may_start(self, of_client: float) -> None:
        """Wait for the set-up of the attempt before; a heavy client also waits for an idle CPU."""
        apart_s = SETUP_S / self._cpus
        await asyncio.sleep(self._started_at_s + apart_s - time.monotonic())
        if of_client >= HEAVY_DEMAND:
            await self._until_a_cpu_is_idle(START_S * of_client)
        self._started_at_s = time.monotonic()

    async def _until_a_cpu_is_idle(self, apart_s: float) -> None:
        """Wait for an idle CPU, so long after the start before; not longer than for room."""
        until_s = time.monotonic() + MOST_WAIT_S
        await asyncio.sleep(self._started_heavy_at_s + apart_s - time.monotonic())
        while (self._running or self._shares_cpus) and time.monotonic() < until_s:
            before_s, at_s = pressure.idle_s(), time.monotonic()
            await asyncio.sleep(LOOK_S)
            if pressure.idle_s() - before_s >= time.monotonic() - at_s:
                break
        self._started_heavy_at_s = time.monotonic()

    async def _hear(self, number: int, cpus: float) -> None:
        """Note the demand of an attempt under way, in place of what it was taken to need."""
        async with self._changed:
            self._running[number] = max(cpus, LEAST_DEMAND)
            self._changed.notify_all()

    def _has_room(self, trial: Trial) -> bool:
        """Whether an attempt may start; a single one always may."""
        if not self._running or not self._adapts:
            return len(self._running) < self._most
        demand = min(self._demands.of(trial), WIDEST_SHARE * self._budget)
        fits = sum(self._running.values()) + demand <= self._budget
        return fits and len(self._running) < self._most

    def _learn(self, attempt: Attempt, number: int) -> None:
        self._demands.learn(attempt)
        if verdict.is_strained(attempt):
            if number > self._lowered_at:
                self._change_to(self._budget * DECREASE)
                self._lowered_at = self._started
        elif _is_calm(attempt):
            self._change_to(self._budget + INCREASE_SHARE * self._cpus)

    def _change_to(self, budget: float) -> None:
        self._budget = min(max(budget, LEAST_SHARE * self._cpus), MOST_SHARE * self._cpus)


def _is_calm(attempt: Attempt) -> bool:
    measured = [check.measured for check in attempt.checks if check.check == PRESSURE.id]
    return all(one is not None and one <= CALM_SHARE * PRESSURE.limit for one in measured)
