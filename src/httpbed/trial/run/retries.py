"""A client at work: one run of its program or, where a failed download is tried again, several.

Runs begin at least :data:`APART_S` apart, so that a client without a network does not spin, and
further apart the longer it has failed at once (:class:`Pauses`), so that it outlasts a long gap
without being started thousands of times. What ends them is the client's time limit, which is for
all of them together. Programs add to their files of standard output and error, which so hold what
every run said.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from httpbed.host.sandbox.spec import Exit, ProcessSpec
from httpbed.host.sandbox.supervisor import Process, Supervisor
from httpbed.trial.run.servers import END_S, stop

APART_S = 0.1
"""From the start of a run to that of the next, at least."""
LATER_SHARE = 0.05
"""Of the time for which runs have ended at once: so much later at most does a client notice that
its network is there again."""
MANY_RUNS = 200
"""From then on whatever fails does so no more often than as many times in the whole time limit."""


@dataclass
class Pauses:
    """When the next run may begin; at most twice :data:`MANY_RUNS` do within the time limit."""

    limit_s: float | None
    """Of all runs together."""
    _runs: int = 0
    _since_s: float | None = None
    """Since when each run has ended before the next was due."""

    def due_s(self, began_s: float, ended_s: float) -> float:
        """Tell of a run that failed; return when the next is due, by the same clock."""
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
    """How it ended, all runs together; None before."""
    is_at_work: bool = False
    _running: Process | None = None
    _exits: list[Exit] = field(default_factory=list)
    _told_to_stop: asyncio.Event = field(default_factory=asyncio.Event)
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
        """End it, whatever it does, and start it no more."""
        self._told_to_stop.set()
        if self._running:
            await stop(self.supervisor, [self._running])
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), END_S)

    async def _run(self, passed_s: float) -> Exit:
        limit_s = None if self.spec.timeout_s is None else self.spec.timeout_s - passed_s
        self._running = await self.supervisor.start(replace(self.spec, timeout_s=limit_s))
        self.is_at_work = True
        self._exits.append(await self._running.exit)
        return self._exits[-1]

    def _wants_another(self, last: Exit) -> bool:
        failed = not last.clean and not last.timed_out
        return self.spec.again and failed

    async def _is_over(self, due_s: float, first_s: float) -> bool:
        """Wait until the next run may begin, or until there is to be none."""
        limit_s = self.spec.timeout_s
        if limit_s is not None:
            due_s = min(due_s, first_s + limit_s)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told_to_stop.wait(), max(0.0, due_s - time.monotonic()))
        is_late = limit_s is not None and time.monotonic() - first_s >= limit_s
        return is_late or self._told_to_stop.is_set()


def together(exits: Sequence[Exit], lasted_s: float, limit_s: float | None) -> Exit:
    """Put several runs into one: it ended as the last did, and took what all did.

    Where the time was over between two runs, it was stopped at its limit.
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
