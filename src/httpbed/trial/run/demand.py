"""The demand of a trial while its clients run: how many CPUs it needs on average.

What the emulator polls is no demand, because it polls only while no other process needs the CPUs.
The sandbox counts the CPU time of all its tasks, the emulator the part of it that it polled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from httpbed.experiment.errors import BedError
from httpbed.host.sandbox.supervisor import Supervisor
from httpbed.network.running import Emulator, polled_s

PERIOD_S = 2.0
"""Time between two reports. What a program computes at its start counts less in each one."""

Tell = Callable[[float], Awaitable[None]]
"""Takes the number of CPUs that the trial needs."""


@dataclass(frozen=True)
class DemandReports:
    """Tells the demand again and again, until the clients have ended."""

    supervisor: Supervisor
    tell: Tell | None
    """None if nobody asks for it."""
    counters: asyncio.Queue[Mapping[str, Any]] = field(default_factory=asyncio.Queue)
    """The emulator's events of this name, from the one that reads its events."""

    @asynccontextmanager
    async def told(self, emulator: Emulator) -> AsyncIterator[None]:
        """Tell the demand while the context lasts; the sandbox must watch the CPU times."""
        if self.tell is None:
            yield
            return
        telling = asyncio.create_task(self._repeat(emulator, self.tell))
        try:
            yield
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError, BedError):  # the clients' end shows why
                await telling

    async def _repeat(self, emulator: Emulator, tell: Tell) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            await emulator.send("counters")
            counters = await self.counters.get()
            times = await self.supervisor.cpu_times()
            await tell(max(times.ran_s - polled_s(counters), 0.0) / times.over_s)
