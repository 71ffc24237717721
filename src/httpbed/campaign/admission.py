"""Admits attempts: as many at a time as the machine can carry without disturbing them.

# Theory of operation

A download over an emulated link takes a twentieth of a CPU, the start of a browser more than a
whole one. So what is limited is not the number of attempts but their demand
(:class:`Demands`): the CPUs that they need. An attempt reports its own demand from two seconds
after its client's start on. Until then earlier attempts give an estimate.

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
import json
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Self, TypeVar

from httpbed.bed.machine import machine_load
from httpbed.campaign import settings
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.trial import Attempt, Record, Trial
from httpbed.trial import verdict
from httpbed.trial.run.cpu_use import ReportDemand

# Estimates the demand of attempts, and their tolerance, from those that ended.
#
# The *demand* of an attempt is the number of CPUs that it needs. While its clients run, the kernel
# counts the CPU time of its processes. No counter of the attempt includes the set-up before and the
# judging after; :data:`OVERHEAD_S` stands for them. So a download of 0.1 s needs much more than one
# of 10 s.
#
# Earlier attempts at the same treatment give the best estimate. The network matters most: a page
# that loads in 1 s needs a CPU, the same page needs a fifteenth of one over a link on which it
# takes 50 s. Before the first attempt at a treatment has ended, attempts of its kind give the
# estimate: the same roles and workload over any network. Before that, attempts with its client do:
# the same program and version of HTTP.
#
# A mean does not show what neighbours do to an attempt. Over HTTP/2 the kernel sends and receives
# for the programs; over HTTP/3 they wake up for every packet. A browser starts six processes that
# need all CPUs at once, and then waits for the network. So an attempt also has a *tolerance*: the
# demand of others beside which it runs. A strained attempt (one that is invalid because the machine
# was busy) lowers the tolerance much, every other attempt raises it a little. In equilibrium one
# attempt in ten is strained. A tolerance belongs to a client and a range of demand, because the
# start of a browser is nearly all of a page load of a second, and little of one of a minute.


K = TypeVar("K")
UNKNOWN_DEMAND = 0.2
"""Estimate for a client without earlier attempts, in CPUs: more than most downloads need, and less
than a browser."""
MIN_DEMAND = 0.02
OVERHEAD_S = 0.15
"""CPU time of an attempt beside that of its client's run: set-up, tear-down, judging, commit."""
WEIGHT_OF_NEW = 0.3
"""Weight of an attempt's demand in the running mean (exponential smoothing)."""
MIN_TOLERANCE = 0.05
"""Smallest tolerance, in CPUs: a few transfers of minutes over slow links may run beside any
attempt."""
FIRST_RANGE = 0.1
"""CPUs at which the first range of demand ends; each further one ends at twice as many."""
LOWER, RAISE = 0.7, 1.04
"""Factors of a tolerance after a strained attempt, and after another one. It stays the same where
the share ``f`` is strained for which ``LOWER**f * RAISE**(1 - f)`` is 1: 10 %."""
INFORMATIVE_SHARE = 0.25
"""An attempt beside a smaller share of its tolerance does not change the tolerance."""


@dataclass(frozen=True)
class Keys:
    """What attempts have in common, from the closest to the most general."""

    treatment: TreatmentKey
    kind: str
    """Roles and workload, without the network."""
    client: str
    """The client's program and version of HTTP."""

    @classmethod
    def of(cls, trial: Trial) -> Self:
        """Return the keys of a trial's attempts."""
        executed = {name: part for name, part in trial.document.items() if name != "topology"}
        role = executed["roles"]["client"]
        client = f"{role['implementation']} {role.get('http_version')}"
        return cls(treatment_key(trial.levels), json.dumps(executed, sort_keys=True), client)


@dataclass
class Demands:
    """Demands and tolerances, learnt from attempts that ended."""

    cpus: float
    """The CPUs that this process may count on; no client tolerates more at first."""
    _whole: dict[object, float] = field(default_factory=dict)
    """Demand with set-up and judging, by each of the keys."""
    _of_clients: dict[str, float] = field(default_factory=dict)
    """Demand while the clients run, by kind and by client."""
    _tolerances: dict[tuple[str, int], float] = field(default_factory=dict)
    """By client and range of demand."""

    def of(self, keys: Keys) -> float:
        """Return the estimated demand of an attempt, in CPUs."""
        for key in (keys.treatment, keys.kind, keys.client):
            if (known := self._whole.get(key)) is not None:
                return max(known, MIN_DEMAND)
        return UNKNOWN_DEMAND

    def of_client(self, keys: Keys) -> float:
        """Return the estimated demand while the client runs, in CPUs."""
        of_client = self._of_clients.get(keys.client, UNKNOWN_DEMAND)
        return self._of_clients.get(keys.kind, of_client)

    def tolerance(self, keys: Keys, demand: float) -> float:
        """Return the demand of others, in CPUs, beside which an attempt with this demand runs."""
        return self._tolerances.get(_range(keys, demand), self.cpus)

    def learn(self, attempt: Attempt) -> None:
        """Learn the demand of an attempt; a strained one had fewer CPUs than it needed."""
        if attempt.cpus is None:
            return
        keys, strained = Keys.of(attempt.trial), verdict.is_strained(attempt)
        whole = _demand(attempt)
        for key in (keys.treatment, keys.kind, keys.client):
            _note(self._whole, key, whole, strained=strained)
        for key in (keys.kind, keys.client):
            _note(self._of_clients, key, attempt.cpus, strained=strained)

    def learn_tolerance(self, keys: Keys, demand: float, beside: float, *, strained: bool) -> None:
        """Learn from an attempt with this demand that ran while others had the demand ``beside``.

        Work outside the campaign may strain an attempt, too. So an attempt beside much less than
        the tolerance does not change it.
        """
        before = self.tolerance(keys, demand)
        if beside < INFORMATIVE_SHARE * before:
            return
        after = max(LOWER * before, MIN_TOLERANCE) if strained else min(RAISE * before, self.cpus)
        self._tolerances[_range(keys, demand)] = after


def _range(keys: Keys, demand: float) -> tuple[str, int]:
    """Return the client, and the number of the range of demand."""
    return keys.client, math.ceil(math.log2(max(demand / FIRST_RANGE, 1.0)))


def _note(known: dict[K, float], key: K, cpus: float, *, strained: bool) -> None:
    before = known.get(key, cpus)
    known[key] = max(before, cpus) if strained else before + WEIGHT_OF_NEW * (cpus - before)


def _demand(attempt: Attempt) -> float:
    """Return the CPUs that an attempt needed: while its client ran, or on average if that is more.

    :attr:`Attempt.cpus` must be known.
    """
    of_client, client_s = attempt.cpus or 0.0, attempt.phases_s.get("client", 0.0)
    whole_s = sum(attempt.phases_s.values())
    return max(of_client, (of_client * client_s + OVERHEAD_S) / whole_s) if whole_s else of_client


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
