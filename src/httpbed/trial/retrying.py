"""A client at work: one run of its program or, where a failed download is tried again, several.

Runs begin at least :data:`APART_S` apart, so that a client without a network does not spin, and
there are at most :data:`MOST_RUNS`. The client's time limit is for all of them together. Programs
add to their files of standard output and error, which so hold what every run said.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from httpbed.process.spec import Exit, ProcessSpec
from httpbed.process.supervisor import Process, Supervisor
from httpbed.trial.answering import END_S, stop

MOST_RUNS = 200
APART_S = 0.1
"""From the start of a run to that of the next, at least."""


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
        first_s = time.monotonic()
        try:
            while True:
                began_s = time.monotonic()
                last = await self._run(began_s - first_s)
                if not self._wants_another(last) or await self._is_over(began_s, first_s):
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
        return self.spec.again and failed and len(self._exits) < MOST_RUNS

    async def _is_over(self, began_s: float, first_s: float) -> bool:
        """Wait until the next run may begin, or until there is to be none."""
        with suppress(TimeoutError):
            wait_s = max(0.0, began_s + APART_S - time.monotonic())
            await asyncio.wait_for(self._told_to_stop.wait(), wait_s)
        limit_s = self.spec.timeout_s
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
