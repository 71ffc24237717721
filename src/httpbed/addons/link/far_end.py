"""What a command reaches at the far end of a link: a server of the user there, or exposed ports.

The server is started before the command and ends after it. An exposed port is one of this machine's
loopback: a relay of ours (``httpbed-probe expose``) listens at the far end and connects to it from
this machine's network. That needs no TUN device, and nothing else of this machine or of other
networks is reachable: docs/concepts/isolation.md says why.

Both are known to be ready by the kernel's tables in ``/proc/PID/net``, which list the sockets of a
network that wait for peers: a listening TCP socket, and a UDP socket that is not connected.
"""

from __future__ import annotations

import asyncio
import signal
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Literal, NamedTuple

from httpbed.addons.link.described_link import FAR
from httpbed.base.errors import BedError, ConfigError, Mistake
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor

SERVER, EXPOSE = "--server", "--expose"
OPENS_S = 10.0
"""How long a server may take to open a port."""
MORE_S = 1.0
"""How long a server that has opened a port of its own loopback, such as Caddy for its
administration, may take to open the next port."""
ENDS_S = 3.0
"""How long the server may write its logs after SIGTERM; then it is killed."""
LOOK_S = 0.02
MAX_PORT = 65535
FAR_SERVICES = {7: "echo", 9: "discard", 19: "chargen"}
"""Ports that the far end answers itself."""
IPV4 = 4
_WAITING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Tables, and the state of a socket that waits in each."""
_LOOPBACK: Mapping[int, IPv4Address | IPv6Address] = {
    4: IPv4Address("127.0.0.1"),
    6: IPv6Address("::1"),
}

Say = Callable[[str], None]
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
            self._say(
                f"the server opened no port in {OPENS_S:g} s, and the command did not wait longer"
            )
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


def port_mistakes(words: Sequence[str], *, outside: bool) -> Iterator[Mistake]:
    """Yield a mistake for each value of ``--expose`` that is no port to expose."""
    for word in dict.fromkeys(words):
        port = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else 0
        if not 1 <= port <= MAX_PORT:
            yield Mistake(EXPOSE, f"{word!r} is no port", f"write a number from 1 to {MAX_PORT}")
        elif port in FAR_SERVICES:
            reason = f"the far end's own {FAR_SERVICES[port]} service has port {port}"
            yield Mistake(EXPOSE, reason, "let the server listen at another port")
    if words and outside:
        reason = "restricts what --outside opens: all ports of this machine, at 10.79.0.1"
        yield Mistake(EXPOSE, reason, "omit one of the two")


async def opened(ports: Sequence[int]) -> list[WaitingSocket]:
    """Wait until a server of this machine's loopback has opened each port; return their sockets.

    Raises:
        ConfigError: With each port that no server opened in time.
    """
    await until(lambda: not _closed(ports))
    if closed := _closed(ports):
        remedy = "start the server first, at 127.0.0.1, [::1] or all addresses"
        raise ConfigError(
            Mistake(EXPOSE, f"no server listens on this machine's loopback at port {port}", remedy)
            for port in closed
        )
    return _exposed(ports)


def _closed(ports: Sequence[int]) -> list[int]:
    is_open = {socket.port for socket in _exposed(ports)}
    return [port for port in ports if port not in is_open]


def _exposed(ports: Sequence[int]) -> list[WaitingSocket]:
    """Return a socket of the loopback for each port and protocol, over IPv4 if there is one."""
    chosen = dict[tuple[str, int], WaitingSocket]()
    for socket in sorted(read(), key=lambda socket: -socket.address.version):
        if socket.port not in ports:
            continue
        if socket.address.is_unspecified:
            loopback = _LOOPBACK[socket.address.version]
            chosen[socket.protocol, socket.port] = socket._replace(address=loopback)
        elif socket.address.is_loopback:
            chosen[socket.protocol, socket.port] = socket
    return sorted(chosen.values(), key=lambda socket: (socket.port, socket.protocol))
