"""What a link needs of this machine: ``ip`` and ``ethtool``, and a way to the outside.

Each resolver of this machine has an address at the link's far end. The command asks that address,
so queries and answers cross the link. A relay (``httpbed-probe names``) at the far end asks the
resolver from this machine's own network. There the resolver may be on the loopback, or have an IPv6
address only. docs/decisions/0026 says why pasta does not do this.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from pathlib import Path

from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Folders in which a sandbox looks for programs."""
WIRING = ("ip", "ethtool")
RESOLV_CONF = Path("/etc/resolv.conf")

Say = Callable[[str], None]

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


def read_names(text: str, index: Callable[[str], int] = socket.if_nametoindex) -> Names:
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
