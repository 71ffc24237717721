"""Ends a browser's connections at its driver's request.

A visit before leaves tickets and caches; its connections have to go before the page is loaded. To
end them takes a right that no program under test has (CAP_NET_ADMIN). So the driver writes their
local ports to ``disconnect-N.json`` in its folder, and the bed ends them from the client's host and
answers with ``disconnected-N``. What is in the file is a program's word: nothing is done but
ending sockets of that host, a bounded number of times.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from httpbed.host.sandbox import untrusted_files
from httpbed.host.sandbox.dialogue import TIME_BOUND_S
from httpbed.host.sandbox.spec import ProcessSpec
from httpbed.host.sandbox.supervisor import Supervisor
from httpbed.network.plan import TOOLS

LOOK_S = 0.01
MOST_TIMES = 5
_MOST_BYTES = 4096
_MOST_PORTS = 128
_PORTS = range(1, 2**16)


async def end_connections(
    supervisor: Supervisor, artifacts: Path, hosts: Mapping[str, str]
) -> None:
    """Do what drivers ask for, until this is cancelled or they have asked often enough.

    Args:
        supervisor: The sandbox.
        artifacts: Where it sees the drivers' folders.
        hosts: Where each driver's browser is, by the name of the driver's folder.
    """
    asked = dict.fromkeys(hosts, 0)
    while any(times < MOST_TIMES for times in asked.values()):
        await asyncio.sleep(LOOK_S)
        for name, number in asked.items():
            if spec := _asked(artifacts / name / f"disconnect-{number}.json", hosts[name]):
                await supervisor.run(spec)
                with suppress(OSError):  # the driver is in its own way, and gets no answer
                    untrusted_files.write(artifacts, f"{name}/disconnected-{number}", "")
                asked[name] += 1


def _asked(file: Path, host: str) -> ProcessSpec | None:
    """Read a request; None where there is none, or one that means nothing."""
    try:
        said = json.loads(untrusted_files.text(file, most=_MOST_BYTES))
        return ended(host, said["transport"], said["ports"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def ended(host: str, transport: str, ports: list[int]) -> ProcessSpec:
    """End the sockets of a host that have these local ports.

    Raises:
        ValueError: There is no such transport or port, or there are too many.
    """
    if transport not in {"tcp", "udp"} or not 0 < len(ports) <= _MOST_PORTS:
        raise ValueError(transport)
    if not all(type(port) is int and port in _PORTS for port in ports):
        raise ValueError(ports)
    words = " or ".join(f"sport = :{port}" for port in ports).split()
    argv = ("ss", "-K", "--no-header", "--numeric", f"--{transport}", "(", *words, ")")
    return ProcessSpec(argv, host=host, root=TOOLS, timeout_s=TIME_BOUND_S)
