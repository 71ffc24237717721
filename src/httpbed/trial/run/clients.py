"""Clients while they run: the one that is measured, and its competitors.

The trial is the client's: it ends when the client does, and competitors that are still at work
are stopped then. They are there so that the client is not alone. How the network was shared is
told of the time in which all were active, so a competitor that goes on alone would add nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from httpbed.host.sandbox.spec import Exit
from httpbed.host.sandbox.supervisor import Supervisor
from httpbed.trial.plan import PlannedClient
from httpbed.trial.run.retries import Client


@dataclass
class ClientRuns:
    """How the clients of a trial ended, by the part's name."""

    exits: dict[str, Exit] = field(default_factory=dict)
    """Of those that began."""
    stopped: list[str] = field(default_factory=list)
    """Competitors that the client's end stopped at work."""
    lasted_s: float = 0.0
    """From the client's start to its end."""


async def run_clients(supervisor: Supervisor, clients: Sequence[PlannedClient]) -> ClientRuns:
    """Run the client, the first of ``clients``, with its competitors."""
    asked = ClientRuns()
    working = {one.part.name: Client(supervisor, one.process) for one in clients}

    async def begin(one: PlannedClient) -> Exit:
        await asyncio.sleep(one.after_s)
        return await working[one.part.name].work()

    began = time.monotonic()
    client, *competitors = [asyncio.create_task(begin(one)) for one in clients]
    try:
        await _first_of(client, competitors)
        asked.lasted_s = time.monotonic() - began
        asked.stopped = [name for name, one in working.items() if one.is_at_work]
        await asyncio.gather(*(working[name].stop() for name in asked.stopped))
    finally:
        for task in (client, *competitors):
            task.cancel()
        await asyncio.gather(client, *competitors, return_exceptions=True)
    asked.exits = {name: one.ended for name, one in working.items() if one.ended}
    return asked


async def _first_of(client: asyncio.Task[Exit], competitors: list[asyncio.Task[Exit]]) -> None:
    """Wait for the client; a competitor that could not be started ends the wait."""
    waiting = {client, *competitors}
    while not client.done():
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    client.result()
