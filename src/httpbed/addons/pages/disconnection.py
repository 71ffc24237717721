"""Ends a browser's connections at its driver's request.

A prior visit leaves tickets and caches; its connections must end before the page is loaded. Only
CAP_NET_ADMIN allows that, which no program under test has. So the driver writes the local ports to
``disconnect-N.json`` in its folder. The bed ends the sockets from the client's host and answers
with ``disconnected-N``. The file is untrusted: it can only end sockets of that host, a bounded
number of times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from httpbed.base import untrusted_files, untrusted_json
from httpbed.bed.network.processes import TOOLS
from httpbed.bed.sandbox.dialogue import TIME_BOUND_S
from httpbed.bed.sandbox.spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import RefusalError, Supervisor

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
        request = untrusted_json.value(untrusted_files.text(file, most=_MAX_BYTES))
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
