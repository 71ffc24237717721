"""Destroys a client's connections during a download, as a phone does when an address is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from httpbed.bed.sandbox.sandbox_spec import TOOLS, ProcessSpec
from httpbed.bed.sandbox.supervisor import RefusalError, Supervisor
from httpbed.trial.attempt_plan import PlannedClient
from httpbed.trial.run import clients_and_servers as trial_clients
from httpbed.trial.run import runner
from httpbed.trial.run.clients_and_servers import ClientRuns

LOOK_S = 0.01


def cut_at(monkeypatch: pytest.MonkeyPatch, *lengths: int) -> None:
    """Destroy the client's TCP sockets when its file reaches each of these lengths in bytes."""

    async def run(supervisor: Supervisor, clients: Sequence[PlannedClient]) -> ClientRuns:
        async with _cutting(supervisor, clients[0], lengths):
            return await trial_clients.run_clients(supervisor, clients)

    monkeypatch.setattr(runner, "run_clients", run)


@asynccontextmanager
async def _cutting(
    supervisor: Supervisor, client: PlannedClient, lengths: Sequence[int]
) -> AsyncIterator[None]:
    task = asyncio.create_task(_cut(supervisor, client, lengths))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _cut(supervisor: Supervisor, client: PlannedClient, lengths: Sequence[int]) -> None:
    (fetch,) = client.part.fetches
    destroy = ProcessSpec(("ss", "-K", "--tcp", "dport", "=", ":443"), host="client", root=TOOLS)
    left = list(lengths)
    while left:
        await asyncio.sleep(LOOK_S)
        if await _length(supervisor, client, fetch.body) >= left[0]:
            await supervisor.run(destroy)
            left.pop(0)


async def _length(supervisor: Supervisor, client: PlannedClient, path: str) -> int:
    try:
        return (await supervisor.digest(path, client.process.part))[0]
    except RefusalError:  # nothing is stored yet
        return 0
