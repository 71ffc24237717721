"""The sockets of a network that wait for peers, by the kernel's tables in ``/proc/PID/net``.

A listening TCP socket waits, and so does a UDP socket that is not connected.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Literal, NamedTuple

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
