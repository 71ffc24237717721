"""Admits attempts: as many at a time as the machine can carry without disturbing them.

# Theory of operation

A download over an emulated link takes a twentieth of a CPU, the start of a browser more than a
whole one. So what is limited is not the number of attempts but their demand
(:mod:`~httpbed.campaign.demands`): the CPUs that they need. An attempt reports its own demand from
two seconds after its client's start on. Until then earlier attempts give an estimate.

The budget is the demand that the machine can carry. It is found as TCP finds its share of a link,
by additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the increase and
decrease algorithms", 1989). Idle CPUs raise the budget as long as attempts wait. Each attempt that
is invalid because the machine was busy lowers it.

Attempts enter in order, with two rules:

* An attempt that waits for room keeps those behind it waiting, too. Otherwise small ones would keep
  it out for ever.
* An attempt that tolerates less than the demand of the others is overtaken by those of its block
  behind it. While it runs, no attempt starts that would exceed its tolerance. So where downloads
  and page loads are mixed and the machine is full, many downloads of a block run before its page
  loads.

A mean does not show that a set-up needs a whole CPU. So attempts start one after the other, with
the time of a set-up between them. A mean does not show either that a page load needs all CPUs while
the browser starts and lays out, and nearly none while it waits for the network. So an attempt that
needs much and tolerates less than the budget waits for idle CPUs, and starts some time after the
last such attempt.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from httpbed.campaign import parallelism
from httpbed.campaign.demands import LEAST_DEMAND, Demands
from httpbed.campaign.parallelism import Parallelism
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.host import pressure
from httpbed.trial import verdict
from httpbed.trial.run.demand import ReportDemand

LEAST_SHARE, MOST_SHARE = 0.5, 0.9
"""Smallest and largest budget, as shares of the CPUs of this process; it begins with the
smallest."""
INCREASE_SHARE = 0.01
"""Added after each look that found idle CPUs."""
IDLE_SHARE = 0.2
"""Of the CPUs: so much idle time shows that the budget or the estimated demands are wrong."""
IDLE_LOOK_S = 1.0
DECREASE = 0.9
"""The budget is multiplied by it after a strained attempt."""
WIDEST_SHARE = 0.5
"""An attempt may start beside others that need up to half of the budget, whatever it needs."""
MUCH = 0.3
"""CPUs from which on an attempt needs much."""
START_S = 1.0
"""Times the client's demand: how long the CPUs may look idle although an attempt has started."""
LOOK_S = 0.2
"""Time between two looks at the idle time: twenty ticks of the kernel's clock."""
MOST_WAIT_S = 1.0
"""Longest wait for idle CPUs, about as long as a set-up or judging takes; no other attempt starts
meanwhile."""
SETUP_S = 0.1
"""CPU time of an attempt's set-up."""


@dataclass(order=True)
class _Waiting:
    """An attempt that waits: those of a block before those of the next, in order."""

    block: int
    arrival: int
    trial: Trial = field(compare=False)
    turn: asyncio.Future[None] = field(compare=False)


@dataclass
class _Running:
    """An attempt under way."""

    trial: Trial
    demand: float


class Admission:
    """Lets attempts run side by side, and learns from each."""

    def __init__(self, parallelism_: Parallelism) -> None:
        self._most = parallelism_.most
        self._adapts = parallelism_.adapts
        self._cpus = parallelism.cpus() / parallelism_.processes
        self._demands = Demands(self._cpus)
        self._shares_cpus = parallelism_.processes > 1
        """Whether other processes run attempts, which this one cannot count."""
        self._budget = LEAST_SHARE * self._cpus
        self._running: dict[int, _Running] = {}
        """The attempts under way, by their numbers."""
        self._started = 0
        self._started_at_s = -math.inf
        self._started_sensitive_at_s = -math.inf
        self._arrivals = itertools.count()
        self._waiting: list[_Waiting] = []
        self._entering = False
        """Whether an attempt's turn has come that has not started yet."""
        self._closed = False
        self._idle_seen = (time.monotonic(), pressure.idle_s())
        """When the idle time was last read, and what it was."""

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

    async def run(
        self, trial: Trial, attempt: Callable[[ReportDemand | None], Awaitable[Record | None]]
    ) -> Record | None:
        """Wait for room, run an attempt at the trial, and learn from its record, if it left one.

        The attempt may report its demand meanwhile, if it is given a function for it. After
        :meth:`close`, returns None instead.
        """
        await self._turn(trial)
        beside, number = await self._start(trial)
        try:
            if self._closed:
                return None
            record = await attempt(partial(self._update_demand, number) if self._adapts else None)
            if self._adapts and record is not None:
                self._learn(record.attempt, beside)
            return record
        finally:
            del self._running[number]
            self._admit()

    def close(self) -> None:
        """Let no further attempt begin: those that wait end without one."""
        self._closed = True
        for waiting in self._waiting:
            waiting.turn.set_result(None)
        self._waiting.clear()

    async def _turn(self, trial: Trial) -> None:
        """Wait until it is this attempt's turn to start."""
        if self._closed:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(trial.block, next(self._arrivals), trial, turn)
        bisect.insort(self._waiting, waiting)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:
                self._entering = False
            self._admit()
            raise

    async def _start(self, trial: Trial) -> tuple[float, int]:
        """Start an attempt whose turn it is; return what the others need, and its number."""
        try:
            if self._adapts and not self._closed:
                await self._until_it_may_start(trial)
            beside = self._demanded()
            self._started += 1
            self._running[self._started] = _Running(trial, self._demands.of(trial))
            return beside, self._started
        finally:
            self._entering = False
            self._admit()

    def _admit(self) -> None:
        """Let the next attempt start, if it may."""
        if self._entering or not self._waiting:
            return
        if chosen := self._next():
            self._waiting.remove(chosen)
            self._entering = True
            chosen.turn.set_result(None)

    def _next(self) -> _Waiting | None:
        """Return the attempt that may start next: the first one always may, if none runs."""
        first = self._waiting[0]
        if not self._running:
            return first
        if len(self._running) >= self._most:
            return None
        if not self._adapts:
            return first
        others = self._demanded()
        for waiting in itertools.takewhile(lambda one: one.block == first.block, self._waiting):
            demand = self._demands.of(waiting.trial)
            if others <= self._demands.tolerance(waiting.trial, demand):
                return waiting if self._has_room(demand) else None
        return None

    def _has_room(self, demand: float) -> bool:
        """Whether one more attempt fits into the budget, and into what the others tolerate."""
        others = self._demanded()
        if others + min(demand, WIDEST_SHARE * self._budget) > self._budget:
            return False
        return all(
            others - one.demand + demand <= self._demands.tolerance(one.trial, one.demand)
            for one in self._running.values()
        )

    def _demanded(self) -> float:
        return sum(one.demand for one in self._running.values())

    async def _until_it_may_start(self, trial: Trial) -> None:
        """Wait for the set-up before; a client that tolerates little waits for an idle CPU, too."""
        apart_s = SETUP_S / self._cpus
        await asyncio.sleep(self._started_at_s + apart_s - time.monotonic())
        demand = self._demands.of(trial)
        tolerance = self._demands.tolerance(trial, demand)
        if demand >= MUCH and tolerance < self._budget:
            idle = min(1.0, self._cpus - tolerance)
            await self._until_idle(idle, START_S * self._demands.of_client(trial))
        self._started_at_s = time.monotonic()

    async def _until_idle(self, idle: float, apart_s: float) -> None:
        """Wait for so many idle CPUs, so long after the last such attempt; but not long."""
        until_s = time.monotonic() + MOST_WAIT_S
        await asyncio.sleep(self._started_sensitive_at_s + apart_s - time.monotonic())
        while (self._running or self._shares_cpus) and time.monotonic() < until_s:
            before_s, at_s = pressure.idle_s(), time.monotonic()
            await asyncio.sleep(LOOK_S)
            if pressure.idle_s() - before_s >= idle * (time.monotonic() - at_s):
                break
        self._started_sensitive_at_s = time.monotonic()

    async def _update_demand(self, number: int, cpus: float) -> None:
        """Replace the estimated demand of an attempt under way by the reported one."""
        self._running[number].demand = max(cpus, LEAST_DEMAND)
        self._raise_if_idle()
        self._admit()

    def _raise_if_idle(self) -> None:
        """Raise the budget if the CPUs have been idle although attempts wait."""
        (before_s, idle_before_s), now_s = self._idle_seen, time.monotonic()
        if now_s - before_s < IDLE_LOOK_S:
            return
        self._idle_seen = (now_s, pressure.idle_s())
        idle = (self._idle_seen[1] - idle_before_s) / (now_s - before_s)
        if self._waiting and idle >= IDLE_SHARE * parallelism.cpus():
            self._change_to(self._budget + INCREASE_SHARE * self._cpus)

    def _learn(self, attempt: Attempt, beside: float) -> None:
        tolerance = self._demands.tolerance(attempt.trial, attempt.cpus or 0.0)
        self._demands.learn(attempt)
        self._demands.learn_tolerance(attempt, beside)
        if verdict.is_strained(attempt) and tolerance >= self._budget:  # else it was to blame
            self._change_to(self._budget * DECREASE)
        self._raise_if_idle()

    def _change_to(self, budget: float) -> None:
        self._budget = min(max(budget, LEAST_SHARE * self._cpus), MOST_SHARE * self._cpus)
