"""Attacks with ordinary sockets on the times that packets tell, and on whether an attempt counts.

Those of :data:`SENDERS` send packets that the bed may not expect. Those of :data:`HASTES` end the
client's own side before the answer has arrived.
"""

from __future__ import annotations

import fcntl
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial

from attacks import Report

SOL_UDP, SO_TXTIME, SCM_TXTIME = 17, 61, 61
CLOCK_MONOTONIC = 1
MPTCP, UDPLITE, SCTP, DCCP = 262, 136, 132, 33
DCCP_KIND = 6
SIOCGIFADDR, SIZEOF_IFREQ = 0x8915, 40
SERVER_PORTS = range(1, 65536)


def patient(connection: socket.socket, received: int) -> None:
    """Keep the client's side open."""


def half_close(connection: socket.socket, received: int) -> None:
    """Close the client's side at once."""
    if received == 0:
        finish(connection)


def half_close_midway(connection: socket.socket, received: int) -> None:
    """Close the client's side after half of the answer."""
    if received >= 50_000:
        finish(connection)


def finish(connection: socket.socket) -> None:
    """Send a FIN, past TLS, and continue to read."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_WR)
    except OSError:
        return


HASTES: dict[str, Callable[[socket.socket, int], None]] = {
    haste.__name__: haste for haste in (half_close, half_close_midway)
}


def source(attack: str, server: str) -> tuple[str, int] | None:
    """Return the address to connect from: with ``other_link`` that of the other access link."""
    if attack != "other_link":
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        own = [address(udp, name) for _, name in socket.if_nameindex() if name != "lo"]
        udp.connect((server, 9))
        preferred = udp.getsockname()[0]
    return next(one for one in own if one != preferred), 0


def address(udp: socket.socket, interface: str) -> str:
    """Return an interface's address."""
    name = interface.encode().ljust(SIZEOF_IFREQ, b"\0")
    return socket.inet_ntoa(fcntl.ioctl(udp, SIOCGIFADDR, name)[20:24])


def neighbour(server: str) -> None:
    """Send one packet to an address of the own subnet that no host has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.connect((server, 9))
        own = udp.getsockname()[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for last in range(1, 255):
            address = f"{own.rpartition('.')[0]}.{last}"
            if address not in {own, server}:
                send(udp, b"x", address, 9)


def flows(server: str) -> None:
    """Send to more than a hundred thousand ports."""
    for _number in range(2):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            for port in SERVER_PORTS:
                send(udp, b"x", server, port)
                if port % 64 == 0:
                    time.sleep(0.001)


def flood(server: str) -> None:
    """Send twice as many packets as make a flood, as fast as the kernel permits."""
    end = time.monotonic() + 15
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        for _number in range(40_000):
            send(udp, bytes(1200), server, 9)
            if time.monotonic() > end:
                return


def fragments(server: str) -> None:
    """Send datagrams that only fragments can carry; all but the first have no ports."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER, IP_PMTUDISC_DONT
        for _number in range(4):
            send(udp, bytes(60_000), server, 9)


def future(server: str) -> None:
    """Send packets with a time of departure (SO_TXTIME), which the kernel keeps as their stamp."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        clock = CLOCK_MONOTONIC.to_bytes(4, "little") + bytes(4)
        udp.setsockopt(socket.SOL_SOCKET, SO_TXTIME, clock)
        for ahead_ns in (-(10**9), 10**9, 10**12):
            due = (time.monotonic_ns() + ahead_ns).to_bytes(8, "little")
            udp.sendmsg([b"x"], [(socket.SOL_SOCKET, SCM_TXTIME, due)], 0, (server, 9))


def send(udp: socket.socket, data: bytes, address: str, port: int) -> None:
    """Send a datagram; what the kernel refuses is not sent."""
    try:
        udp.sendto(data, (address, port))
    except OSError:
        return


SENDERS: dict[str, Callable[[str], None]] = {
    sender.__name__: sender for sender in (neighbour, flows, flood, fragments, future)
}


def protocols(report: Report) -> None:
    """Open sockets of protocols other than TCP and UDP."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for name, kind, protocol in foreign():
            report.tried(f"{name}, family {family}", partial(made, family, kind, protocol))


def foreign() -> Iterator[tuple[str, int, int]]:
    """Yield sockets by name, type and protocol."""
    yield "UDP-Lite", socket.SOCK_DGRAM, UDPLITE
    yield "ping", socket.SOCK_DGRAM, 1
    yield "ping over IPv6", socket.SOCK_DGRAM, 58
    yield "SCTP", socket.SOCK_STREAM, SCTP
    yield "SCTP, one to many", socket.SOCK_SEQPACKET, SCTP
    yield "SCTP by type", socket.SOCK_SEQPACKET, 0
    yield "DCCP", DCCP_KIND, DCCP
    yield "DCCP by type", DCCP_KIND, 0
    yield "MPTCP", socket.SOCK_STREAM, MPTCP
    yield "raw", socket.SOCK_RAW, 253
    yield "raw UDP", socket.SOCK_RAW, 17
    yield "raw by type", socket.SOCK_RAW, 0


def made(family: int, kind: int, protocol: int) -> str:
    """Make a socket, with the flags that ordinary programs add."""
    socket.socket(family, kind | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, protocol).close()
    return "made"


REPORTED: dict[str, Callable[[Report], None]] = {"protocols": protocols}
