"""The network being made, and its emulator.

Planning and judging import nothing of it: it brings the event loop and the sandbox with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.errors import BedError
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.dialogue import Dialogue, run_tool, time_bounded
from httpbed.bed.sandbox.sandbox_spec import NetworkProcesses
from httpbed.bed.sandbox.supervisor import Supervisor


@dataclass(frozen=True)
class Emulator(Dialogue):
    """The running ``httpbed-link``."""

    real_time: bool = False
    """Whether it runs with SCHED_FIFO."""

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "the emulator"

    async def start_counting(self) -> None:
        """Begin the impairments' random streams and the counting."""
        await self.request("start", "started")

    async def change(self, order: Mapping[str, Any], link: str | None = None) -> dict[str, Any]:
        """Change a condition now; return the event that reports the change.

        ``order`` is made by :func:`~httpbed.bed.network.emulator.order`. ``link`` is the name
        of the link that changes; networks of one link do without.

        Raises:
            BedError: The emulator refused.
        """
        async with self.lock, time_bounded(f"a change by {self.name}"):
            await self.send("change", link=link, **order)
            while True:
                event = await self.next()
                if event["event"] == "refused":
                    raise BedError(f"{self.name} refused: {event['message']}")
                if event["event"] == "changed" and event["by"] == "command":
                    return event

    async def gone(self) -> None:
        """Wait until the emulator ends unexpectedly."""
        await self.process.wait()


async def build(supervisor: Supervisor, planned: NetworkProcesses) -> Emulator:
    """Make the network in a sandbox that has its hosts; return its emulator, ready.

    The emulator starts while the hosts get their addresses, because it waits some ten milliseconds
    for the kernel.

    Raises:
        BedError: A part of the network could not be made.
    """
    if planned.wiring:
        await run_tool(supervisor, planned.wiring)
    starting = asyncio.create_task(Emulator.begin(supervisor, planned.emulator))
    await asyncio.gather(starting, *(run_tool(supervisor, spec) for spec in planned.hosts))
    for spec in planned.after_ready:
        await run_tool(supervisor, spec)
    emulator = starting.result()
    real_time = machine_load.promote(supervisor.init_pid, emulator.process.pid)
    return replace(emulator, real_time=real_time)
