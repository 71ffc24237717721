"""Speaking with a program in a sandbox that takes orders and tells events, a JSON line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from httpbed.experiment.errors import BedError
from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.spec import ProcessSpec
from httpbed.host.sandbox.supervisor import Process, Supervisor

PATIENCE_S = 20.0
"""For any tool and any answer: what takes longer is the bed's failure."""


@dataclass(frozen=True)
class Dialogue:
    """A running program of ours, such as the link emulator or a probe."""

    supervisor: Supervisor
    process: Process
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, kw_only=True)
    """Of who has asked and waits: events are heard once, and others pass over them."""

    @classmethod
    async def begin(cls, supervisor: Supervisor, spec: ProcessSpec) -> Self:
        """Start the program and wait until it is ready."""
        dialogue = cls(supervisor, await supervisor.start(spec))
        await dialogue.wait_for("ready")
        return dialogue

    async def send(self, order: str, **more: Any) -> None:
        """Give an order, and say what more belongs to it."""
        await self.supervisor.send(self.process, {"do": order, **more})

    async def request(self, order: str, answer: str) -> dict[str, Any]:
        """Give an order and wait for the event that answers it."""
        async with self.lock:
            await self.send(order)
            return await self.wait_for(answer)

    async def wait_for(self, kind: str, lasts_s: float = 0.0) -> dict[str, Any]:
        """Wait for the next event of a kind, if need be for ``lasts_s`` longer than for others.

        All events before it are passed over.
        """
        async with time_bounded(f"the word {kind!r} of {self.name}", lasts_s):
            while (event := await self.next())["event"] != kind:
                pass
        return event

    async def next(self) -> dict[str, Any]:
        """Wait for the next event, however long it takes.

        Raises:
            BedError: The program has ended.
        """
        event = await self.process.lines.get()
        if event["event"] in {"error", "exited"}:
            raise BedError(f"{self.name} ended: {self.process.complaint or 'no reason given'}")
        return event

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.process.spec.argv[0].rpartition("/")[2]


@asynccontextmanager
async def time_bounded(what: str, lasts_s: float = 0.0) -> AsyncIterator[None]:
    """Turn what takes too long into a fault of the bed."""
    limit_s = PATIENCE_S + lasts_s
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise BedError(f"{what} took more than {limit_s:.0f} s") from None


async def run_tool(supervisor: Supervisor, spec: ProcessSpec) -> None:
    """Run a program that makes a part of the bed.

    Raises:
        BedError: It failed, or took too long.
    """
    async with time_bounded(spec.argv[0]):
        ended = await supervisor.run(spec)
    if not ended.clean:
        raise BedError(f"{spec.shell()}: {ended}{last_error_line(supervisor, spec)}")


def last_error_line(supervisor: Supervisor, spec: ProcessSpec) -> str:
    """Quote the last line that a program wrote about its failure, if it wrote any."""
    said = untrusted_files.last_line(supervisor.folder, spec.stderr) if spec.stderr else ""
    return f": {said[:300]}" if said else ""
