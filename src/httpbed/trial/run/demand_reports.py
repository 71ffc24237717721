"""The demand of a trial while its clients run: how many CPUs it needs.

The sandbox counts the CPU time of all its tasks. The emulator counts the part of it that it polled,
which is no demand: it polls only while no other process needs the CPUs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from httpbed.base.errors import BedError
from httpbed.bed.network.network_processes import polled_s
from httpbed.bed.network.running_network import Emulator
from httpbed.bed.sandbox.supervisor import Supervisor

PERIOD_S = 2.0
"""Time between two reports."""
WEIGHT_OF_NEW = 0.5
"""The weight of the latest period in a report (exponential smoothing). After some ten seconds, the
start of a program no longer counts."""

ReportDemand = Callable[[float], None]
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
            ended = (await asyncio.gather(reporting, return_exceptions=True))[0]
        if isinstance(ended, Exception) and not isinstance(ended, BedError):
            raise ended  # a fault of httpbed; a BedError also ends the clients' run

    async def _repeat(self, emulator: Emulator, report: ReportDemand) -> None:
        needed_s = over_s = demand = 0.0
        while True:
            await asyncio.sleep(PERIOD_S)
            await emulator.send("counters")
            counters = await self.counters.get()
            times = await self.supervisor.cpu_times()
            if times.over_s <= over_s:
                continue  # a busy machine: there was no further reading
            before_s, since_s = needed_s, over_s
            needed_s, over_s = times.ran_s - polled_s(counters), times.over_s
            latest = (needed_s - before_s) / (over_s - since_s)
            demand += (WEIGHT_OF_NEW if since_s else 1.0) * (latest - demand)
            report(max(demand, 0.0))
