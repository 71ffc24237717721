"""Runs the programs that answer for recorded sites, from their start to their complete logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from httpbed.addons.pages.disconnection import end_connections
from httpbed.base.errors import BedError, SubjectError
from httpbed.bed.sandbox.dialogue import last_error_line
from httpbed.bed.sandbox.spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor
from httpbed.trial.attempt_addition import RunningAddition
from httpbed.trial.run.servers import started, stop


@dataclass
class RunningLoads(RunningAddition):
    """The programs behind a trial's servers, by name, and what browsers' drivers ask for."""

    supervisor: Supervisor
    specs: Mapping[str, ProcessSpec]
    starting: Mapping[str, asyncio.Task[Process]]
    drivers: Mapping[str, ProcessSpec]
    """Drivers that may ask for the end of their browser's connections, by their folder."""

    async def before_clients(self) -> None:
        """Wait until recorded responses can be served.

        Raises:
            BedError: One of the programs did not start.
        """
        for name, task in self.starting.items():
            try:
                await task
            except SubjectError as error:
                words = last_error_line(self.supervisor, self.specs[name])
                raise BedError(f"recorded responses cannot be served: {error}{words}") from None

    async def beside_clients(self, ended: asyncio.Event) -> None:
        """End connections for drivers that ask for it before their measured visit."""
        await end_connections(self.supervisor, self.drivers, ended)

    async def after_clients(self) -> None:
        """End all, so that their logs are complete.

        Raises:
            BedError: One ended earlier.
        """
        processes = {name: task.result() for name, task in self.starting.items()}
        for name, one in processes.items():
            if one.exit.done():
                words = last_error_line(self.supervisor, self.specs[name])
                raise BedError(f"{name} ended before the client did: {one.exit.result()}{words}")
        await stop(self.supervisor, processes.values())


@asynccontextmanager
async def running_loads(
    supervisor: Supervisor, origins: Mapping[str, ProcessSpec], drivers: Mapping[str, ProcessSpec]
) -> AsyncIterator[RunningLoads]:
    """Start the programs, without waiting until they are ready."""
    async with started(supervisor, origins) as starting:
        yield RunningLoads(supervisor, origins, starting, drivers)
