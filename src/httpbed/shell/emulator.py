"""Speaking with the link emulator of a running sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from httpbed.host import realtime
from httpbed.model.errors import BedError
from httpbed.process.spec import ProcessSpec
from httpbed.process.supervisor import Process, Supervisor

PATIENCE_S = 20.0
"""For any answer."""


@dataclass(frozen=True)
class Emulator:
    """The running ``httpbed-link``."""

    supervisor: Supervisor
    process: Process
    real_time: bool
    """Whether it has SCHED_FIFO."""

    @classmethod
    async def start(cls, supervisor: Supervisor, spec: ProcessSpec) -> Self:
        """Start it and wait until it is ready."""
        process = await supervisor.start(spec)
        real_time = realtime.promote(supervisor.init_pid, process.pid)
        emulator = cls(supervisor, process, real_time)
        await emulator.hear("ready")
        return emulator

    async def begin(self) -> None:
        """Begin its random streams and its counting."""
        await self.tell("start")
        await self.hear("started")

    async def tell(self, order: str) -> None:
        """Give an order."""
        await self.supervisor.send(self.process, {"do": order})

    async def hear(self, kind: str) -> Mapping[str, Any]:
        """Wait for the next event of a kind; all before it are passed over."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while (event := await self._next())["event"] != kind:
                    pass
        except TimeoutError:
            raise BedError(f"the emulator did not say {kind!r} in {PATIENCE_S:.0f} s") from None
        return event

    async def gone(self) -> None:
        """Wait until it has ended, which nobody asked for."""
        await asyncio.shield(self.process.exit)

    async def _next(self) -> dict[str, Any]:
        event = await self.process.lines.get()
        if event["event"] in {"error", "exited"}:
            raise BedError(f"the emulator ended: {event.get('message', 'no reason given')}")
        return event
