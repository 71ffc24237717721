"""Names behind a link: each resolver of this machine has an address at the link's far end.

The command asks that address, so queries and answers cross the link. A relay (``httpbed-probe
names``) at the far end asks the resolver from this machine's own network. There the resolver may be
on the loopback, or have an IPv6 address only. docs/decisions/0026 says why pasta does not do this.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address

PORT = 53
ADDRESSES = ("10.79.0.3", "10.79.0.4", "10.79.0.5")
"""At the far end, one for each resolver; the C library asks at most three (resolv.conf(5))."""
LOCAL = "127.0.0.1"
"""The resolver of a machine whose resolv.conf names none (resolv.conf(5))."""
_LINE = re.compile(r"nameserver\b[ \t]*(\S*)")


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
            yield f"{address}:{PORT}={resolver}"


def read(text: str, index: Callable[[str], int] = socket.if_nametoindex) -> Names:
    """Read a resolv.conf; ``index`` returns the number of an interface by its name."""
    named = [_LINE.match(line) for line in text.splitlines()]
    found = [one for match in named if match and (one := _resolver(match[1], index))]
    resolvers = tuple(found[: len(ADDRESSES)]) or (f"{LOCAL}:{PORT}",)
    seen = [f"nameserver {address}" for address in ADDRESSES[: len(resolvers)]]
    others = [line for line in text.splitlines() if not _LINE.match(line)]
    return Names(resolvers, "\n".join([*seen, *others, ""]))


def _resolver(text: str, index: Callable[[str], int]) -> str | None:
    """Return a resolver with its port; None for what the C library passes over, too."""
    try:
        address = ip_address(text)
        if isinstance(address, IPv4Address):
            return f"{address}:{PORT}"
        bare, _, zone = str(address).partition("%")
        number = zone if zone.isdigit() or not zone else str(index(zone))
    except (ValueError, OSError):
        return None
    return f"[{bare}%{number}]:{PORT}" if number else f"[{bare}]:{PORT}"
