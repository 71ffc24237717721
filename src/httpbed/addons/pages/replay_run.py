"""Runs the programs that answer for recorded sites, from their start to their complete logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from httpbed.base.errors import BedError, SubjectError
from httpbed.bed.sandbox.dialogue import last_error_line
from httpbed.bed.sandbox.spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor
from httpbed.trial.run.servers import started, stop


@dataclass
class RunningOrigins:
    """The programs behind a trial's servers, by name."""

    supervisor: Supervisor
    specs: Mapping[str, ProcessSpec]
    starting: Mapping[str, asyncio.Task[Process]]

    async def ready(self) -> None:
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

    async def end(self) -> None:
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
async def running_origins(
    supervisor: Supervisor, specs: Mapping[str, ProcessSpec]
) -> AsyncIterator[RunningOrigins]:
    """Start the programs, without waiting until they are ready."""
    async with started(supervisor, specs) as starting:
        yield RunningOrigins(supervisor, specs, starting)
