"""Starts servers and proxies side by side, watches and ends them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from httpbed.base.errors import SubjectError
from httpbed.bed.sandbox.dialogue import last_error_line, time_bounded
from httpbed.bed.sandbox.sandbox_spec import Exit, ProcessSpec
from httpbed.bed.sandbox.supervisor import START_TIMEOUT_S, Process, Supervisor

END_S = 2.0
"""Seconds that a program has to write its logs after it is asked to end."""


@dataclass
class RunningServers:
    """The servers and proxies of a trial, by the part's name."""

    supervisor: Supervisor
    specs: Mapping[str, ProcessSpec]
    starting: Mapping[str, asyncio.Task[Process]]

    async def failures(self) -> dict[str, str]:
        """Wait until all are ready; return why some failed."""
        async with time_bounded("the start of servers and proxies", START_TIMEOUT_S):
            done = await asyncio.gather(*self.starting.values(), return_exceptions=True)
        failures = {}
        for name, result in zip(self.starting, done, strict=True):
            if isinstance(result, SubjectError):
                failures[name] = f"{result}{last_error_line(self.supervisor, self.specs[name])}"
            elif isinstance(result, BaseException):
                raise result
        return failures

    def survivors(self) -> list[str]:
        """Return the names of those that still run."""
        return [name for name, process in self._processes() if not process.exit.done()]

    async def end(self) -> dict[str, Exit]:
        """Ask all to end, so that their logs are complete; return how each ended."""
        processes = dict(self._processes())
        await stop(self.supervisor, processes.values())
        ended = {name: process.exit for name, process in processes.items() if process.exit.done()}
        return {name: exit_.result() for name, exit_ in ended.items()}

    def _processes(self) -> list[tuple[str, Process]]:
        return [(name, task.result()) for name, task in self.starting.items()]


@asynccontextmanager
async def running_servers(
    supervisor: Supervisor, specs: Mapping[str, ProcessSpec]
) -> AsyncIterator[RunningServers]:
    """Start servers and proxies at once: a proxy connects upstream only on a request."""
    async with started(supervisor, specs) as starting:
        yield RunningServers(supervisor, specs, starting)


@asynccontextmanager
async def started(
    supervisor: Supervisor, specs: Mapping[str, ProcessSpec]
) -> AsyncIterator[dict[str, asyncio.Task[Process]]]:
    """Start programs side by side; cancel the starts when the context ends."""
    starting = {name: asyncio.create_task(supervisor.start(spec)) for name, spec in specs.items()}
    try:
        yield starting
    finally:
        for task in starting.values():
            task.cancel()
        await asyncio.gather(*starting.values(), return_exceptions=True)


async def stop(supervisor: Supervisor, processes: Iterable[Process]) -> None:
    """Ask processes to end, and kill those that do not."""
    running = [process for process in processes if not process.exit.done()]
    for word in (signal.SIGTERM, signal.SIGKILL):
        for process in running:
            await supervisor.signal(process, word)
        if running:
            await asyncio.wait([process.exit for process in running], timeout=END_S)
        running = [process for process in running if not process.exit.done()]
