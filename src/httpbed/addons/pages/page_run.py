"""What page loads do while a trial runs.

The programs that answer for recorded sites run from before the clients to their complete logs.

A browser's connections are ended at its driver's request. A prior visit leaves tickets and caches;
its connections must end before the page is loaded. Only CAP_NET_ADMIN allows that, which no program
under test has. So the driver writes the local ports to ``disconnect-N.json`` in its folder. The bed
ends the sockets from the client's host and answers with ``disconnected-N``. The file is untrusted:
it can only end sockets of that host, a bounded number of times.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from httpbed.base import untrusted_files
from httpbed.base.errors import BedError, SubjectError
from httpbed.bed.sandbox.dialogue import TIME_BOUND_S, last_error_line
from httpbed.bed.sandbox.sandbox_spec import TOOLS, ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, RefusalError, Supervisor
from httpbed.trial.attempt_plan import RunningAddition
from httpbed.trial.run.clients_and_servers import started, stop


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


LOOK_S = 0.01
MAX_TIMES = 5
_MAX_BYTES = 4096
_MAX_PORTS = 128
_PORTS = range(1, 2**16)


async def end_connections(
    supervisor: Supervisor, clients: Mapping[str, ProcessSpec], ended: asyncio.Event
) -> None:
    """Carry out drivers' requests until the clients have ended, :data:`MAX_TIMES` of each driver.

    Args:
        supervisor: The sandbox.
        clients: The process of each driver, by the name of the driver's folder.
        ended: Set when the measured client has ended.
    """
    requests = dict.fromkeys(clients, 0)
    while not ended.is_set() and any(times < MAX_TIMES for times in requests.values()):
        await asyncio.sleep(LOOK_S)
        for name, number in requests.items():
            if number == MAX_TIMES:
                continue
            file, driver = supervisor.folder / name / f"disconnect-{number}.json", clients[name]
            if spec := _command(file, str(driver.host)):
                await supervisor.run(spec)
                with suppress(RefusalError):  # the driver blocks its own file, and gets no answer
                    await supervisor.write(f"{name}/disconnected-{number}", "", driver.part)
                requests[name] += 1


def _command(file: Path, host: str) -> ProcessSpec | None:
    """Return the command for a request; None where there is none, or an invalid one."""
    try:
        request = untrusted_files.json_value(untrusted_files.text(file, most=_MAX_BYTES))
        return ending(host, request["transport"], request["ports"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def ending(host: str, transport: str, ports: list[int]) -> ProcessSpec:
    """Return the command that ends the sockets of a host with these local ports.

    Raises:
        ValueError: The transport or a port is invalid, or there are too many ports.
    """
    if transport not in {"tcp", "udp"} or not 0 < len(ports) <= _MAX_PORTS:
        raise ValueError(transport)
    if not all(type(port) is int and port in _PORTS for port in ports):
        raise ValueError(ports)
    words = " or ".join(f"sport = :{port}" for port in ports).split()
    argv = ("ss", "-K", "--no-header", "--numeric", f"--{transport}", "(", *words, ")")
    return ProcessSpec(argv, host=host, root=TOOLS, timeout_s=TIME_BOUND_S)
