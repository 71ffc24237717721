"""The demand of a trial while its clients run: how many CPUs it needs on average.

The sandbox counts the CPU time of all its tasks. The emulator counts the part of it that it polled,
which is no demand: it polls only while no other process needs the CPUs.
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
"""Time between two reports. The start of a program counts less in each further report."""

ReportDemand = Callable[[float], Awaitable[None]]
"""Takes the number of CPUs that the trial needs."""


@dataclass(frozen=True)
class DemandReports:
    """Reports the demand every :data:`PERIOD_S`, until the clients have ended."""

    supervisor: Supervisor
    report: ReportDemand | None
    """None if no demand is to be reported."""
    counters: asyncio.Queue[Mapping[str, Any]] = field(default_factory=asyncio.Queue)
    """The emulator's events of this name, which the reader of its events puts here."""

    @asynccontextmanager
    async def reported(self, emulator: Emulator) -> AsyncIterator[None]:
        """Report the demand while the context lasts; the sandbox must watch the CPU times."""
        if self.report is None:
            yield
            return
        reporting = asyncio.create_task(self._repeat(emulator, self.report))
        try:
            yield
        finally:
            reporting.cancel()
            with suppress(asyncio.CancelledError, BedError):  # the clients' end shows the error
                await reporting

    async def _repeat(self, emulator: Emulator, report: ReportDemand) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            await emulator.send("counters")
            counters = await self.counters.get()
            times = await self.supervisor.cpu_times()
            await report(max(times.ran_s - polled_s(counters), 0.0) / times.over_s)
