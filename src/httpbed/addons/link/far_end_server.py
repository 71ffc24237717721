"""The user's server at the far end of a link: its start, and its end after the command.

The sockets of a network that wait for peers, by the kernel's tables in ``/proc/PID/net``.

A listening TCP socket waits, and so does a UDP socket that is not connected.
"""

from __future__ import annotations

import asyncio
import signal
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Literal, NamedTuple

from httpbed.addons.link.described_link import FAR
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor

SERVER = "--server"
ENDS_S = 3.0
"""How long the server may write its logs after SIGTERM; then it is killed."""

MORE_S = 1.0
"""How long a server that has opened a port of its own loopback, such as Caddy for its
administration, may take to open the next port."""

Say = Callable[[str], None]


class FarEndServer:
    """A program of the user at the far end."""

    def __init__(self, supervisor: Supervisor, process: Process, say: Say) -> None:
        self._supervisor = supervisor
        self._process = process
        self._say = say

    @classmethod
    async def start(
        cls,
        supervisor: Supervisor,
        argv: Sequence[str],
        environment: Mapping[str, str],
        far_services: Process,
        say: Say,
    ) -> FarEndServer:
        """Start it beside the far end's services, and wait until it has opened a port.

        Raises:
            ConfigError: It ended before, or opened only ports that the command does not reach.
        """
        pid = machine_load.outer_pid(supervisor.init_pid, far_services.pid)
        if pid is None:
            raise BedError("the far end has ended")
        before = read(pid)
        spec = ProcessSpec(tuple(argv), "beside", FAR, environment=environment)
        server = cls(supervisor, await supervisor.start(spec), say)
        sockets = set[WaitingSocket]()
        clock = asyncio.get_running_loop().time
        changed_s = clock()

        def is_settled() -> bool:
            nonlocal changed_s
            if new := read(pid) - before - sockets:
                sockets.update(new)
                changed_s = clock()
            if server._process.exit.done() or _reachable(sockets):
                return True
            return bool(sockets) and clock() > changed_s + MORE_S

        await until(is_settled)
        server._require(sockets)
        return server

    def _require(self, sockets: set[WaitingSocket]) -> None:
        """Raise ConfigError if the command cannot reach the server."""
        if self._process.exit.done():
            reason = f"the server ended before it opened a port: {self._process.exit.result()}"
            raise ConfigError([Mistake(SERVER, reason, "start one that stays in the foreground")])
        if not sockets:
            self._say(f"the server has opened no port for {OPENS_S:g} s: the command runs now")
        elif not _reachable(sockets):
            places = ", ".join(sorted(map(str, sockets)))
            reason = f"the server listens only on the far end's own loopback: {places}"
            remedy = "have it listen at 0.0.0.0, or at the far end's address, $HTTPBED_PEER"
            raise ConfigError([Mistake(SERVER, reason, remedy)])

    async def end(self) -> None:
        """Ask it to end, as it would be asked by a service manager."""
        if self._process.exit.done():
            self._say(f"the server ended before the command: {self._process.exit.result()}")
            return
        await self._supervisor.signal(self._process, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_S):
                await self._process.wait()


def _reachable(sockets: set[WaitingSocket]) -> bool:
    return any(not socket.address.is_loopback for socket in sockets)


OPENS_S = 10.0
"""How long a server may take to open a port."""
LOOK_S = 0.02
IPV4 = 4
_WAITING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Tables, and the state of a socket that waits in each."""

Protocol = Literal["tcp", "udp"]


class WaitingSocket(NamedTuple):
    """A socket that takes what comes."""

    protocol: Protocol
    address: IPv4Address | IPv6Address
    """Unspecified for all addresses of the network."""
    port: int

    def __str__(self) -> str:
        place = self.address if self.address.version == IPV4 else f"[{self.address}]"
        return f"{place}:{self.port}"


def read(pid: int | str = "self") -> set[WaitingSocket]:
    """Return what waits for peers in the network of a process, by default this one's."""
    sockets = set[WaitingSocket]()
    for table, state in _WAITING.items():
        try:
            _, *lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()
        except FileNotFoundError:  # a kernel without IPv6
            continue
        rows = (line.split() for line in lines)
        sockets |= {_socket(table, row[1]) for row in rows if row[3] == state}
    return sockets


def _socket(table: str, local_address: str) -> WaitingSocket:
    """Read an address of a table: 32-bit words in this machine's byte order, and the port."""
    digits, port = local_address.split(":")
    words = (int(digits[place : place + 8], 16) for place in range(0, len(digits), 8))
    packed = b"".join(struct.pack("=I", word) for word in words)
    address = IPv4Address(packed) if len(packed) == 4 else IPv6Address(packed)
    return WaitingSocket("tcp" if table.startswith("tcp") else "udp", address, int(port, 16))


async def until(is_open: Callable[[], bool]) -> None:
    """Look until ``is_open`` returns True, for at most :data:`OPENS_S`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + OPENS_S
    while True:
        if is_open() or loop.time() > deadline:
            return
        await asyncio.sleep(LOOK_S)
