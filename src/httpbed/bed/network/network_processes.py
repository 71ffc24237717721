"""The processes that make a network, planned to the last detail, and the network that they make.

The code that starts them needs neither topology nor impairments, so it does not import the schema
of experiments (``docs/decisions/0034``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from httpbed.base.clock import NS
from httpbed.base.errors import BedError
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.dialogue import Dialogue, run_tool, time_bounded
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Supervisor

TOOLS = "tools"
"""Name, inside the sandbox, of the root filesystem that has ip, ethtool, ss and ping."""


@dataclass(frozen=True)
class NetworkProcesses:
    """Everything that makes a network, in the order of its first fields."""

    wiring: ProcessSpec | None
    """In the sandbox's own network: the veth pairs; None where the emulator makes the devices."""
    hosts: tuple[ProcessSpec, ...]
    """On each host: addresses, neighbours, routes, offloads; with a kernel backend also its
    disciplines. The commands do not depend on each other."""
    emulator: ProcessSpec
    """The link emulator; it speaks line by line."""
    after_ready: tuple[ProcessSpec, ...]
    """Commands that need a ready emulator, one after the other."""
    counters: ProcessSpec | None = None
    """Reads the kernel's own counters where its disciplines carry the packets."""

    def counter_readings(self, *readings: str) -> tuple[ProcessSpec, ...]:
        """Return the readings of the kernel's counters; none if the emulator carries."""
        if self.counters is None:
            return ()
        return tuple(replace(self.counters, stdout=counters_file(one)) for one in readings)

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return every process that makes the network, in order."""
        wiring = (self.wiring,) if self.wiring else ()
        return (*wiring, *self.hosts, self.emulator, *self.after_ready)


def counters_file(reading: str) -> str:
    """Name the file with one of the kernel's counter readings, among a trial's artifacts."""
    return f"qdiscs-{reading}.json"


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


def polled_s(event: Mapping[str, Any]) -> float:
    """Return the CPU time in which the emulator polled, by its event ``counters`` or ``result``.

    Time in which it polled and other processes had the CPU is no CPU time.
    """
    return float(min(event.get("polled_ns", 0), event.get("cpu_ns", 0)) / NS)


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
