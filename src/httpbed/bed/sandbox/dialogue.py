"""Talking to httpbed's own programs in a sandbox: orders and events, one JSON line each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from httpbed.base import untrusted_files
from httpbed.base.errors import BedError
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor

TIME_BOUND_S = 20.0
"""Time bound of every tool and every answer; exceeding it is a failure of the bed."""


@dataclass(frozen=True)
class Dialogue:
    """A running program that reads orders and writes events, such as the link emulator."""

    supervisor: Supervisor
    process: Process
    lock: asyncio.Lock = field(default_factory=asyncio.Lock, kw_only=True)
    """Held by the caller that waits for an answer: each event can be read only once."""

    @classmethod
    async def begin(cls, supervisor: Supervisor, spec: ProcessSpec) -> Self:
        """Start the program and wait for its ``ready`` event."""
        dialogue = cls(supervisor, await supervisor.start(spec))
        await dialogue.wait_for("ready")
        return dialogue

    async def send(self, order: str, **more: Any) -> None:
        """Send an order with further keys."""
        await self.supervisor.send(self.process, {"do": order, **more})

    async def request(self, order: str, answer: str) -> dict[str, Any]:
        """Send an order and wait for the event that answers it."""
        async with self.lock:
            await self.send(order)
            return await self.wait_for(answer)

    async def wait_for(self, kind: str, lasts_s: float = 0.0) -> dict[str, Any]:
        """Wait for the next event of a kind, and discard all events before it.

        ``lasts_s`` is added to the time bound.
        """
        async with time_bounded(f"the event {kind!r} of {self.name}", lasts_s):
            while (event := await self.next())["event"] != kind:
                pass
        return event

    async def next(self) -> dict[str, Any]:
        """Wait for the next event, without a time bound.

        Raises:
            BedError: The program has ended.
        """
        event = await self.process.lines.get()
        if event["event"] in {"error", "exited"}:
            raise BedError(f"{self.name} ended: {self.process.error or 'no reason given'}")
        return event

    @property
    def name(self) -> str:
        """The program's name for messages."""
        return self.process.spec.argv[0].rpartition("/")[2]


@asynccontextmanager
async def time_bounded(what: str, lasts_s: float = 0.0) -> AsyncIterator[None]:
    """Raise :class:`BedError` if the block takes too long."""
    limit_s = TIME_BOUND_S + lasts_s
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise BedError(f"{what} took more than {limit_s:.0f} s") from None


async def run_tool(supervisor: Supervisor, spec: ProcessSpec) -> None:
    """Run a program that sets up a part of the bed.

    Raises:
        BedError: It failed, or took too long.
    """
    async with time_bounded(spec.argv[0]):
        end = await supervisor.run(spec)
    if not end.clean:
        raise BedError(f"{spec.shell()}: {end}{last_error_line(supervisor, spec)}")


def last_error_line(supervisor: Supervisor, spec: ProcessSpec) -> str:
    """Return the last line of a program's stderr for a message; empty if there is none."""
    line = untrusted_files.last_line(supervisor.folder, spec.stderr) if spec.stderr else ""
    return f": {line[:300]}" if line else ""


def last_error_lines(supervisor: Supervisor, spec: ProcessSpec) -> str:
    """Return the last lines of stderr of a program that ended at once; empty if there is none."""
    lines = untrusted_files.last_lines(supervisor.folder, spec.stderr, 5) if spec.stderr else []
    text = " / ".join(line.strip() for line in lines if line.strip())
    return f": {text[:1000]}" if text else ""
