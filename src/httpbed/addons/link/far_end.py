"""What a command reaches beyond a link: a server there, exposed ports, or the outside network.

The server is started before the command and ends after it. An exposed port is one of this machine's
loopback: a relay of ours (``httpbed-probe expose``) listens at the far end and connects to it from
this machine's network. That needs no TUN device, and nothing else of this machine or of other
networks is reachable: docs/concepts/isolation.md says why.

Both are known to be ready by the kernel's tables in ``/proc/PID/net``, which list the sockets of a
network that wait for peers: a listening TCP socket, and a UDP socket that is not connected.

pasta leads to the outside network. Each resolver of this machine has an address at the link's far
end. The command asks that address, so queries and answers cross the link. A relay (``httpbed-probe
names``) at the far end asks the resolver from this machine's own network. There the resolver may be
on the loopback, or have an IPv6 address only. docs/decisions/0026 says why pasta does not do this.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from socket import if_nametoindex
from typing import Literal, NamedTuple

from httpbed.addons.link.described_link import FAR
from httpbed.base.errors import BedError, ConfigError, HostError, Mistake
from httpbed.bed.machine import machine_load
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.bed.sandbox.supervisor import Process, Supervisor
from httpbed.bed.toolbox import debian

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
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which a sandbox looks for programs."""
WIRING = ("ip", "ethtool")
RESOLV_CONF = Path("/etc/resolv.conf")

NAME_PORT = 53
ADDRESSES = ("10.79.0.3", "10.79.0.4", "10.79.0.5")
"""At the far end, one for each resolver; the C library asks at most three (resolv.conf(5))."""
LOCAL = "127.0.0.1"
"""The resolver of a machine whose resolv.conf names none (resolv.conf(5))."""
_LINE = re.compile(r"nameserver\b[ \t]*(\S*)")


class WaitingSocket(NamedTuple):
    """A socket that takes what comes."""

    protocol: Protocol
    address: IPv4Address | IPv6Address
    """Unspecified for all addresses of the network."""
    port: int

    def __str__(self) -> str:
        place = self.address if self.address.version == IPV4 else f"[{self.address}]"
        return f"{place}:{self.port}"


def waiting(pid: int | str = "self") -> set[WaitingSocket]:
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
        before = waiting(pid)
        spec = ProcessSpec(tuple(argv), "beside", FAR, environment=environment)
        server = cls(supervisor, await supervisor.start(spec), say)
        sockets = set[WaitingSocket]()
        clock = asyncio.get_running_loop().time
        changed_s = clock()

        def is_settled() -> bool:
            nonlocal changed_s
            if new := waiting(pid) - before - sockets:
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
    for socket in sorted(waiting(), key=lambda socket: -socket.address.version):
        if socket.port not in ports:
            continue
        if socket.address.is_unspecified:
            loopback = _LOOPBACK[socket.address.version]
            chosen[socket.protocol, socket.port] = socket._replace(address=loopback)
        elif socket.address.is_loopback:
            chosen[socket.protocol, socket.port] = socket
    return sorted(chosen.values(), key=lambda socket: (socket.port, socket.protocol))


@dataclass(frozen=True)
class Names:
    """The resolvers of this machine, and how a command behind the link asks them."""

    resolvers: tuple[str, ...]
    """Their addresses with ports, in the order in which they are asked."""
    resolv_conf: str
    """What the command sees as /etc/resolv.conf."""

    def pairs(self) -> Iterator[str]:
        """Yield each address of the far end with its resolver, as the relay reads them."""
        for address, resolver in zip(ADDRESSES, self.resolvers, strict=False):
            yield f"{address}:{NAME_PORT}={resolver}"


@dataclass(frozen=True)
class WayOut:
    """What leads from the far end of a link to the outside."""

    pasta: Path
    names: Names | None
    """The resolvers; None if this machine has no resolv.conf."""

    @property
    def programs(self) -> int:
        """The number of programs in this machine's network: pasta, and the relay for names."""
        return 1 if self.names is None else 2


def tools(say: Say) -> Path:
    """Return a root filesystem with the tools for a network: this machine's, if it has them.

    Raises:
        HostError: The machine lacks them, and a toolbox cannot be built.
    """
    if all(shutil.which(name, path=SEARCHED) for name in WIRING):
        return Path("/")
    from httpbed.bed.toolbox import root_filesystem  # noqa: PLC0415 - slow, and rarely needed

    if root_filesystem.find(root_filesystem.TOOLS) is None:
        say("ip or ethtool is missing here: building a toolbox that has them, once, in about 5 s")
    return root_filesystem.ensure(root_filesystem.TOOLS, say=say).path


def way_out(*, wanted: bool | None, say: Say) -> WayOut | None:
    """Find what leads to the outside; None isolates the command.

    ``wanted`` is False for isolation, True to require the outside, None to use it if possible.

    Raises:
        HostError: It is required, and this machine cannot: the reason and the remedy are doctor's.
    """
    if wanted is False:
        return None
    try:
        return WayOut(_pasta(say), _names(say))
    except HostError as error:
        if wanted:
            raise HostError(
                f"the outside cannot be reached: {error.reason}", error.remedy
            ) from None
        say(f"the command has no outside network: {error.reason}")
        say(f"{error.remedy}; or give --isolated, or --expose PORT for a port of this machine")
        return None


def _pasta(say: Say) -> Path:
    """Return pasta, which works here.

    Raises:
        HostError: It is missing, or does not work.
    """
    try:
        program = debian.ensure_pasta(say)
    except HostError as error:
        raise HostError(f"pasta is missing: {error.reason}", error.remedy) from None
    if fault := debian.pasta_fault(program):
        raise HostError(*fault)
    return program


def _names(say: Say) -> Names | None:
    """Read this machine's resolv.conf."""
    try:
        return read_names(RESOLV_CONF.read_text(errors="replace"))
    except OSError as error:
        why = "leads to no file" if RESOLV_CONF.is_symlink() else str(error.strerror)
        say(f"the command resolves no names: {RESOLV_CONF}: {why}")
        return None


def read_names(text: str, index: Callable[[str], int] = if_nametoindex) -> Names:
    """Read a resolv.conf; ``index`` returns the number of an interface by its name."""
    named = [_LINE.match(line) for line in text.splitlines()]
    found = [one for match in named if match and (one := _resolver(match[1], index))]
    resolvers = tuple(found[: len(ADDRESSES)]) or (f"{LOCAL}:{NAME_PORT}",)
    seen = [f"nameserver {address}" for address in ADDRESSES[: len(resolvers)]]
    others = [line for line in text.splitlines() if not _LINE.match(line)]
    return Names(resolvers, "\n".join([*seen, *others, ""]))


def _resolver(text: str, index: Callable[[str], int]) -> str | None:
    """Return a resolver with its port; None for what the C library passes over, too."""
    try:
        address = ip_address(text)
        if isinstance(address, IPv4Address):
            return f"{address}:{NAME_PORT}"
        bare, _, zone = str(address).partition("%")
        number = zone if zone.isdigit() or not zone else str(index(zone))
    except (ValueError, OSError):
        return None
    return f"[{bare}%{number}]:{NAME_PORT}" if number else f"[{bare}]:{NAME_PORT}"
