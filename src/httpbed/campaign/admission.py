"""Admits attempts: as many at a time as the machine can carry without disturbing them.

# Theory of operation

A download over an emulated link takes a twentieth of a CPU, the start of a browser more than a
whole one. So what is limited is not the number of attempts but their demand
(:mod:`~httpbed.campaign.demand`): the CPUs that they need. An attempt reports its own demand from
two seconds after its client's start on. Until then earlier attempts give an estimate.

The budget is the demand that the machine can carry. It is found as TCP finds its share of a link,
by additive increase and multiplicative decrease (Chiu and Jain, "Analysis of the increase and
decrease algorithms", 1989). Idle CPUs raise the budget, as long as it keeps attempts waiting. Each
strained attempt lowers it, unless its client tolerates less than the budget.

Of the attempts of a block, the first one starts that fits into the budget, tolerates the demand of
the others, and does not exceed the tolerance of one under way. So where downloads and page loads
are mixed and the machine is full, many downloads of a block run before its page loads. The next
block waits until all attempts of a block have started.

What programs write is memory of this machine, too (``docs/concepts/isolation.md``). Most write
little of what they may, so their bounds are not added up: an attempt starts beside others if the
memory that is available then has room for the most that one attempt's programs may write.

A mean does not show that a set-up needs a whole CPU. So attempts start one after the other, with
the time of a set-up between them. A mean does not show either that a page load needs all CPUs while
the browser starts and lays out, and nearly none while it waits for the network. So a sensitive
attempt, which needs much and tolerates less than the budget, also waits for idle CPUs.
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

from httpbed.bed.machine import machine_load
from httpbed.campaign import settings
from httpbed.campaign.demand import MIN_DEMAND, Demands, Keys
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.trial import verdict
from httpbed.trial.run.cpu_use import ReportDemand

MIN_SHARE, MAX_SHARE = 0.5, 0.9
"""Smallest and largest budget, as shares of the CPUs of this process; it begins with the
smallest."""
INCREASE_SHARE = 0.01
"""Share of the CPUs by which the budget grows after each look that found idle CPUs."""
IDLE_SHARE = 0.2
"""A larger idle share of the CPUs shows that the budget is too small."""
IDLE_LOOK_S = 1.0
DECREASE = 0.9
"""The budget is multiplied by it after a strained attempt."""
WIDEST_SHARE = 0.5
"""An attempt may start beside others that need up to half of the budget, whatever it needs."""
SENSITIVE_DEMAND = 0.3
"""CPUs that a client needs whose attempts may have to wait for idle CPUs."""
APART_S = 1.0
"""Time between the starts of two such attempts, in seconds for each CPU of the client's demand: so
long the CPUs may look idle although an attempt has started."""
LOOK_S = 0.2
"""Time between two looks at the idle time: twenty ticks of the kernel's clock."""
MAX_WAIT_S = 1.0
"""Longest wait for idle CPUs, about as long as a set-up or judging takes; no other attempt starts
meanwhile."""
MIN_AVAILABLE_BYTES = 5 * 2**28
"""More than the files of a client and a server may take in memory (1.13 GiB without bodies):
a part's folder has 64 MiB, its other files 512 MiB."""
SETUP_S = 0.1
"""CPU time of an attempt's set-up."""


@dataclass(order=True)
class _Waiting:
    """An attempt that waits: those of a block before those of the next, in order."""

    block: int
    arrival: int
    keys: Keys = field(compare=False)
    turn: asyncio.Future[None] = field(compare=False)


@dataclass
class _Running:
    """An attempt under way."""

    keys: Keys
    demand: float
    """Estimated at first, then reported."""
    beside: float
    """The largest demand of the others so far."""


class Admission:
    """Lets attempts run side by side, and learns from each."""

    def __init__(self, parallelism_: Parallelism) -> None:
        self.parallelism = parallelism_
        self._adapts = parallelism_.adapts
        self._cpus = settings.cpus() / parallelism_.processes
        self._demands = Demands(self._cpus)
        self._shares_cpus = parallelism_.processes > 1
        """Whether other processes run attempts, which this one cannot count."""
        self._budget = MIN_SHARE * self._cpus
        self._running: dict[int, _Running] = {}
        """The attempts under way, by their numbers."""
        self._waiting: list[_Waiting] = []
        self._entering = False
        """Whether an attempt's turn has come that has not started yet."""
        self._closed = False
        self._numbers = itertools.count()
        self._started_at_s = -math.inf
        self._started_sensitive_at_s = -math.inf
        self._idle_since: tuple[float, float] | None = None
        """Since when the budget keeps attempts waiting, and the idle time until then."""

    def learn_demands(self, attempts: Iterable[Attempt]) -> None:
        """Learn what attempts of earlier runs needed."""
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
        self, trial: Trial, attempt: Callable[[ReportDemand | None], Awaitable[Record]]
    ) -> Record | None:
        """Wait for room, run an attempt at the trial, and learn from its record.

        The attempt may report its demand meanwhile, if it is given a function for it. After
        :meth:`close`, returns None instead.
        """
        keys = Keys.of(trial)
        await self._turn(trial.block, keys)
        number = await self._start(keys)
        try:
            if self._closed:
                return None
            report = partial(self._update_demand, number)
            record = await attempt(report if self._adapts else None)
            if self._adapts:
                self._learn(record.attempt, self._running[number])
            return record
        finally:
            del self._running[number]
            self._admit()

    def close(self) -> None:
        """Let no further attempt begin: those that wait end without one."""
        self._closed = True
        for waiting in self._waiting:
            if not waiting.turn.done():
                waiting.turn.set_result(None)
        self._waiting.clear()

    async def _turn(self, block: int, keys: Keys) -> None:
        """Wait until it is this attempt's turn to start."""
        if self._closed:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(block, next(self._numbers), keys, turn)
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

    async def _start(self, keys: Keys) -> int:
        """Start an attempt whose turn it is; return its number."""
        try:
            if self._adapts and not self._closed:
                await self._until_it_may_start(keys)
            number = next(self._numbers)
            self._running[number] = _Running(keys, self._demands.of(keys), 0.0)
            self._note_neighbours()
            return number
        finally:
            self._entering = False
            self._admit()

    def _note_neighbours(self) -> None:
        demanded = self._demanded()
        for running in self._running.values():
            running.beside = max(running.beside, demanded - running.demand)

    def _admit(self) -> None:
        """Let the next attempt start, if it may."""
        if self._entering or self._closed:
            return
        waiting = next((one for one in self._waiting if not one.turn.done()), None)
        if waiting and (chosen := self._next(waiting)):
            self._waiting.remove(chosen)
            self._entering = True
            chosen.turn.set_result(None)

    def _next(self, first: _Waiting) -> _Waiting | None:
        """Return the attempt that may start next: the first one always may, if none runs."""
        if not self._running:
            return first
        if len(self._running) >= self.parallelism.most:
            return None
        if not self._adapts:
            return first
        has_room = machine_load.available_bytes() >= MIN_AVAILABLE_BYTES
        return self._first_that_fits(first.block) if has_room else None

    def _first_that_fits(self, block: int) -> _Waiting | None:
        others, demands = self._demanded(), self._demands
        tolerated = min(
            demands.tolerance(one.keys, one.demand) - (others - one.demand)
            for one in self._running.values()
        )
        refused = False
        for waiting in itertools.takewhile(lambda one: one.block == block, self._waiting):
            demand = demands.of(waiting.keys)
            if demand > tolerated or others > demands.tolerance(waiting.keys, demand):
                continue
            if others + min(demand, WIDEST_SHARE * self._budget) > self._budget:
                refused = True
            elif not waiting.turn.done():
                return waiting
        self._look_at_idle_time(refused=refused)
        return None

    def _demanded(self) -> float:
        return sum(one.demand for one in self._running.values())

    def _look_at_idle_time(self, *, refused: bool) -> None:
        """Raise the budget if CPUs are idle while it keeps attempts waiting."""
        now_s = time.monotonic()
        if not refused:
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = (now_s, machine_load.idle_s())
        elif now_s - self._idle_since[0] >= IDLE_LOOK_S:
            (since_s, before_s), after_s = self._idle_since, machine_load.idle_s()
            self._idle_since = (now_s, after_s)
            if after_s - before_s >= IDLE_SHARE * settings.cpus() * (now_s - since_s):
                self._change_to(self._budget + INCREASE_SHARE * self._cpus)

    async def _until_it_may_start(self, keys: Keys) -> None:
        """Wait for the set-up of the attempt before; a sensitive attempt waits for idle CPUs."""
        apart_s = SETUP_S / self._cpus
        await asyncio.sleep(self._started_at_s + apart_s - time.monotonic())
        of_client = self._demands.of_client(keys)
        tolerance = self._demands.tolerance(keys, self._demands.of(keys))
        if of_client >= SENSITIVE_DEMAND and tolerance < self._budget:
            since_s = time.monotonic() - self._started_sensitive_at_s
            await asyncio.sleep(min(APART_S * of_client, MAX_WAIT_S) - since_s)
            await self._until_idle(min(1.0, self._cpus - tolerance))
            self._started_sensitive_at_s = time.monotonic()
        self._started_at_s = time.monotonic()

    async def _until_idle(self, cpus: float) -> None:
        """Wait until so many CPUs are idle, at most :data:`MAX_WAIT_S`."""
        until_s = time.monotonic() + MAX_WAIT_S
        while (self._running or self._shares_cpus) and time.monotonic() < until_s:
            before_s, at_s = machine_load.idle_s(), time.monotonic()
            await asyncio.sleep(LOOK_S)
            if machine_load.idle_s() - before_s >= cpus * (time.monotonic() - at_s):
                break

    def _update_demand(self, number: int, cpus: float) -> None:
        """Replace the estimated demand of an attempt under way by the reported one."""
        self._running[number].demand = max(cpus, MIN_DEMAND)
        self._admit()

    def _learn(self, attempt: Attempt, running: _Running) -> None:
        keys, demand, strained = running.keys, running.demand, verdict.is_strained(attempt)
        tolerance = self._demands.tolerance(keys, demand)
        self._demands.learn(attempt)
        self._demands.learn_tolerance(keys, demand, running.beside, strained=strained)
        if strained and tolerance >= self._budget:
            self._change_to(self._budget * DECREASE)

    def _change_to(self, budget: float) -> None:
        self._budget = min(max(budget, MIN_SHARE * self._cpus), MAX_SHARE * self._cpus)
