"""Ports of this machine's loopback that a command behind a link reaches at the far end.

A relay of ours (``httpbed-probe expose``) listens at the far end and connects to the named ports
from this machine's network. It needs no TUN device. Nothing else of this machine or of other
networks is reachable: docs/concepts/isolation.md says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address

from httpbed.addons.link import far_end_server
from httpbed.addons.link.far_end_server import WaitingSocket
from httpbed.base.errors import ConfigError, Mistake

EXPOSE = "--expose"
MAX_PORT = 65535
FAR_SERVICES = {7: "echo", 9: "discard", 19: "chargen"}
"""Ports that the far end answers itself."""
_LOOPBACK: Mapping[int, IPv4Address | IPv6Address] = {
    4: IPv4Address("127.0.0.1"),
    6: IPv6Address("::1"),
}


def mistakes(words: Sequence[str], *, outside: bool) -> Iterator[Mistake]:
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
    await far_end_server.until(lambda: not _closed(ports))
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
    for socket in sorted(far_end_server.read(), key=lambda socket: -socket.address.version):
        if socket.port not in ports:
            continue
        if socket.address.is_unspecified:
            loopback = _LOOPBACK[socket.address.version]
            chosen[socket.protocol, socket.port] = socket._replace(address=loopback)
        elif socket.address.is_loopback:
            chosen[socket.protocol, socket.port] = socket
    return sorted(chosen.values(), key=lambda socket: (socket.port, socket.protocol))
