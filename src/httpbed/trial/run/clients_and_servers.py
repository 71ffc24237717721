"""Runs the clients of a trial: the measured one, its competitors, and repeated runs of each.

The trial ends when the measured client does; competitors that are still at work are stopped then.
Shares are measured while all clients are active, so a competitor alone would add nothing.

A client whose failed download is retried runs its program several times. Runs begin at least
:data:`APART_S` apart, so that a client without a network does not spin. The longer runs have failed
at once, the further apart they begin (:class:`Pauses`), so that the client outlasts a long gap
without thousands of starts. The client's time limit covers all runs together. Programs append to
their files of standard output and error, which hold the output of every run.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from httpbed.base.errors import SubjectError
from httpbed.bed.sandbox.dialogue import last_error_lines, time_bounded
from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec
from httpbed.bed.sandbox.supervisor import START_TIMEOUT_S, NotReadyError, Process, Supervisor
from httpbed.trial.attempt_plan import PlannedClient

# Starts servers and proxies side by side, watches and ends them.


END_S = 2.0
"""Seconds that a program has to write its logs after it is asked to end."""


@dataclass
class RunningServers:
    """The servers and proxies of a trial, by the part's name."""

    supervisor: Supervisor
    specs: Mapping[str, ProcessSpec]
    starting: Mapping[str, asyncio.Task[Process]]

    async def failures(self) -> tuple[dict[str, str], dict[str, Exit]]:
        """Wait until all are ready; return why some failed, and how those of them ended."""
        async with time_bounded("the start of servers and proxies", START_TIMEOUT_S):
            done = await asyncio.gather(*self.starting.values(), return_exceptions=True)
        failures, ended = dict[str, str](), dict[str, Exit]()
        for name, result in zip(self.starting, done, strict=True):
            if isinstance(result, SubjectError):
                failures[name] = f"{result}{last_error_lines(self.supervisor, self.specs[name])}"
                if isinstance(result, NotReadyError) and result.ended:
                    ended[name] = result.ended
            elif isinstance(result, BaseException):
                raise result
        return failures, ended

    def survivors(self) -> list[str]:
        """Return the names of those that still run."""
        return [name for name, process in self._processes() if not process.exit.done()]

    async def end(self) -> dict[str, Exit]:
        """Ask all to end, so that their logs are complete; return how each ended."""
        processes = dict(self._processes())
        await stop(self.supervisor, processes.values())
        ended = {name: process.exit for name, process in processes.items() if process.exit.done()}
        return {name: exit_.result() for name, exit_ in ended.items()}

    def _processes(self) -> list[tuple[str, Process]]:
        return [(name, task.result()) for name, task in self.starting.items()]


@asynccontextmanager
async def running_servers(
    supervisor: Supervisor, specs: Mapping[str, ProcessSpec]
) -> AsyncIterator[RunningServers]:
    """Start servers and proxies at once: a proxy connects upstream only on a request."""
    async with started(supervisor, specs) as starting:
        yield RunningServers(supervisor, specs, starting)


@asynccontextmanager
async def started(
    supervisor: Supervisor, specs: Mapping[str, ProcessSpec]
) -> AsyncIterator[dict[str, asyncio.Task[Process]]]:
    """Start programs side by side; cancel the starts when the context ends."""
    starting = {name: asyncio.create_task(supervisor.start(spec)) for name, spec in specs.items()}
    try:
        yield starting
    finally:
        for task in starting.values():
            task.cancel()
        await asyncio.gather(*starting.values(), return_exceptions=True)


async def stop(supervisor: Supervisor, processes: Iterable[Process]) -> None:
    """Ask processes to end, and kill those that do not."""
    running = [process for process in processes if not process.exit.done()]
    for word in (signal.SIGTERM, signal.SIGKILL):
        for process in running:
            await supervisor.signal(process, word)
        if running:
            await asyncio.wait([process.exit for process in running], timeout=END_S)
        running = [process for process in running if not process.exit.done()]


APART_S = 0.1
"""Least seconds from the start of a run to that of the next."""
LATER_SHARE = 0.05
"""Share of the time for which runs have failed at once by which a client may notice late that its
network is back."""
STARTED_ENDS_S = 3 * END_S
"""For a run that was starting when its client was stopped: two signals and a margin."""
MANY_RUNS = 200
"""After this many runs, the next ones are spread over the whole time limit at this rate."""


@dataclass
class Pauses:
    """When the next run may begin; at most twice :data:`MANY_RUNS` begin within the time limit."""

    limit_s: float | None
    """Seconds for all runs together."""
    _runs: int = 0
    _since_s: float | None = None
    """Since when each run has ended before the next was due."""

    def due_s(self, began_s: float, ended_s: float) -> float:
        """Record a failed run; return when the next is due, by the same clock."""
        self._runs += 1
        if self._since_s is None:
            self._since_s = began_s
        apart_s = max(APART_S, LATER_SHARE * (ended_s - self._since_s))
        if self._runs >= MANY_RUNS:
            apart_s = max(apart_s, (self.limit_s or 0.0) / MANY_RUNS)
        due_s = began_s + apart_s
        if ended_s >= due_s:
            self._since_s = None
        return due_s


@dataclass
class Client:
    """A client from its first start to its end."""

    supervisor: Supervisor
    spec: ProcessSpec
    ended: Exit | None = None
    """How it ended, with all runs together; None before its end."""
    is_at_work: bool = False
    _running: Process | None = None
    _exits: list[Exit] = field(default_factory=list)
    _stop_requested: asyncio.Event = field(default_factory=asyncio.Event)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self) -> Exit:
        """Run it to its end."""
        first_s, pauses = time.monotonic(), Pauses(self.spec.timeout_s)
        try:
            while True:
                began_s = time.monotonic()
                last = await self._run(began_s - first_s)
                due_s = pauses.due_s(began_s, time.monotonic())
                if not self._wants_another(last) or await self._is_over(due_s, first_s):
                    break
            self.ended = together(self._exits, time.monotonic() - first_s, self.spec.timeout_s)
            return self.ended
        finally:
            self.is_at_work = False
            self._over.set()

    async def stop(self) -> None:
        """End it and start no further run; a run that is starting is stopped afterwards."""
        self._stop_requested.set()
        if self._running:
            await stop(self.supervisor, [self._running])
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), STARTED_ENDS_S)

    async def _run(self, passed_s: float) -> Exit:
        limit_s = None if self.spec.timeout_s is None else self.spec.timeout_s - passed_s
        self._running = await self.supervisor.start(replace(self.spec, timeout_s=limit_s))
        self.is_at_work = True
        if self._stop_requested.is_set():  # while the run was starting
            await stop(self.supervisor, [self._running])
        self._exits.append(await self._running.wait())
        return self._exits[-1]

    def _wants_another(self, last: Exit) -> bool:
        failed = not last.clean and not last.timed_out
        return self.spec.again and failed

    async def _is_over(self, due_s: float, first_s: float) -> bool:
        """Wait until the next run may begin; return True if there is none."""
        limit_s = self.spec.timeout_s
        if limit_s is not None:
            due_s = min(due_s, first_s + limit_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop_requested.wait(), max(0.0, due_s - time.monotonic()))
        is_late = limit_s is not None and time.monotonic() - first_s >= limit_s
        return is_late or self._stop_requested.is_set()


def together(exits: Sequence[Exit], lasted_s: float, limit_s: float | None) -> Exit:
    """Combine several runs: the end of the last one, and the resources of all.

    A client whose time limit passes between two runs was stopped at its limit.
    """
    last = exits[-1]
    if len(exits) == 1:
        return last
    late = not last.clean and limit_s is not None and lasted_s >= limit_s
    return replace(
        last,
        timed_out=last.timed_out or late,
        wall_s=lasted_s,
        cpu_s=sum(one.cpu_s for one in exits),
        max_rss_kib=max(one.max_rss_kib for one in exits),
        runs=len(exits),
    )


@dataclass
class ClientRuns:
    """How the clients of a trial ended, by the part's name."""

    exits: dict[str, Exit] = field(default_factory=dict)
    """How each client that started ended."""
    stopped: list[str] = field(default_factory=list)
    """Competitors that were still at work when the client ended."""
    lasted_s: float = 0.0
    """Seconds from the client's start to its end."""


async def run_clients(supervisor: Supervisor, clients: Sequence[PlannedClient]) -> ClientRuns:
    """Run the measured client, the first of ``clients``, with its competitors."""
    runs = ClientRuns()
    working = {planned.part.name: Client(supervisor, planned.process) for planned in clients}

    async def begin(planned: PlannedClient) -> Exit:
        await asyncio.sleep(planned.after_s)
        return await working[planned.part.name].work()

    began = time.monotonic()
    measured, *competitors = [asyncio.create_task(begin(planned)) for planned in clients]
    try:
        await until_done(measured, set(competitors))
        runs.lasted_s = time.monotonic() - began
        runs.stopped = [name for name, client in working.items() if client.is_at_work]
        await asyncio.gather(*(working[name].stop() for name in runs.stopped))
    finally:
        for task in (measured, *competitors):
            task.cancel()
        await asyncio.gather(measured, *competitors, return_exceptions=True)
    runs.exits = {name: client.ended for name, client in working.items() if client.ended}
    return runs


async def until_done(task: asyncio.Task[Any], others: set[asyncio.Task[Any]]) -> None:
    """Wait for a task; the failure of another one ends the wait and is raised."""
    while not task.done():
        done, _ = await asyncio.wait({task, *others}, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
        others = others - done
