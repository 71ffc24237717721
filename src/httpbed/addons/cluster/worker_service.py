"""``httpbed worker``: a worker of Dask that connects again after its scheduler vanished."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker
from distributed.comm import addressing

from httpbed.addons.cluster import dask_settings, machine_facts, worker
from httpbed.addons.cluster.certificates import START, Scheduler
from httpbed.addons.cluster.messages import RESOURCE, WorkerFacts
from httpbed.base import units
from httpbed.base.errors import HostError
from httpbed.bed.machine import scratch

FIRST_PATIENCE_S = 30.0
"""How long a worker waits for its scheduler at first: the address may be wrong."""
PATIENCE_S = 600.0
"""How long it waits for a scheduler that vanished."""
AGAIN_S = 2.0
"""Time between two attempts to reach it."""
HEARTBEAT = "5s"

Say = Callable[[str], None]
Connected = Callable[[WorkerFacts], None]
"""Called when the worker has registered, with what it said about itself."""


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker registers, and how long it waits for its scheduler."""

    scheduler: Scheduler
    name: str
    slots: int = 1
    host: str | None = None
    """Address at which it listens; None: the one from which it reaches the scheduler."""
    first_patience_s: float = FIRST_PATIENCE_S
    patience_s: float = PATIENCE_S


def run(options: WorkerOptions, *, connected: Connected, say: Say) -> None:
    """Work until the scheduler is gone for good.

    Raises:
        HostError: No scheduler answers, or another worker has this name.
        KeyboardInterrupt: The user ended it; blocks under way are broken off.
    """
    dask_settings.apply(options.scheduler)
    asyncio.run(_work(options, connected, say))


async def _work(options: WorkerOptions, connected: Connected, say: Say) -> None:
    folder = scratch.make(worker.SCRATCH)
    patience_s = options.first_patience_s
    last_s = time.monotonic()
    while True:
        try:
            await _serve(options, folder, connected)
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            if time.monotonic() - last_s > patience_s:
                raise _gone(options, patience_s, error) from None
            await asyncio.sleep(AGAIN_S)
            continue
        patience_s, last_s = options.patience_s, time.monotonic()
        waits = units.format_long_duration(patience_s)
        say(
            f"the scheduler at {options.scheduler.address} is gone: waiting for it, at most {waits}"
        )


async def _serve(options: WorkerOptions, folder: Path, connected: Connected) -> None:
    """Work while the scheduler is there."""
    facts = machine_facts.gather(options.name, options.slots)
    address = options.scheduler.address
    serving = Worker(
        address,
        name=options.name,
        nthreads=options.slots,
        resources={RESOURCE: options.slots},
        host=options.host or addressing.get_local_address_for(address),
        memory_limit=0,  # httpbed bounds what a trial uses
        heartbeat_interval=HEARTBEAT,
        dashboard_address="127.0.0.1:0",
        startup_information=worker.startup_information(facts),
        plugins=(worker.BlockRunner(folder, facts),),
        death_timeout=dask_settings.CONNECT_S,
    )
    async with serving:
        connected(facts)
        await serving.finished()


def _gone(options: WorkerOptions, patience_s: float, error: Exception) -> HostError:
    cause = str(error.__cause__ or error).splitlines() or [type(error).__name__]
    if "name taken" in cause[0]:
        reason = f"the scheduler already has a worker called {options.name}"
        return HostError(reason, "give this one another name (--name), or more slots to the other")
    waited = units.format_long_duration(patience_s)
    reason = f"no scheduler answers at {options.scheduler.address} for {waited}: {cause[0]}"
    return HostError(reason, START)
