"""A client's access links: what its operating system does when a link comes, goes or is preferred.

A host with two networks has two addresses. If routes depended on the destination alone, every
packet would leave by the better route whatever its source, and networks drop packets with another
network's source address (BCP 38). So the source decides first, as RFC 8028 asks for and as Android
does for each network: a rule ``from ADDRESS`` leads to a table with the routes over this link
alone. A program that has bound an address uses that address's link.

A program that has not bound one gets an address from its route (``src``, before all rules of
RFC 6724). Its route is the one in the main table with the lowest metric: 100 on the first access
link, 200 on the second, ...; 50 on the link that is preferred later. Programs hear of these changes
by netlink (RFC 3549).

What happens when an address goes:

* IPv4 removes every route that has the address as its source; IPv6 leaves these routes without a
  source. So routes are deleted first: no packet leaves by one link with another link's address.
* The rule stays, and a second rule behind it says "unreachable". Without it IPv6, which does not
  check whether a bound source is still an address of the host, would use the next link. (A Linux
  desktop does, and an operator then drops the packet. Android's rules end like these.)
* The kernel does not tell TCP connections, which wait for their timers. Android ends them
  (SOCK_DESTROY: ``ss -K``), so that programs get ECONNABORTED at once. QUIC, over UDP, gets
  ENETUNREACH when it sends.
* The last IPv4 address of an interface takes the neighbours with it, even permanent ones. They are
  added again with the address.

Tables are 101, 102, ...: all above 0 are free except 253 to 255 (default, main, local). A rule's
priority is its table's number; a second rule has 100 more: behind that of local (0), before that of
main (32766).
Every route has the sender's ``congctl``: TCP reads the route that it takes, not the main table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from httpbed.bed.network import network_commands
from httpbed.bed.network.network_processes import TOOLS
from httpbed.bed.network.routes import AccessRoutes, End, Entry
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec

FIRST_TABLE = 101
METRIC_STEP = 100
PREFERRED_METRIC = 50
MONITOR = "network-monitor.txt"
"""The kernel's messages of changes, among a trial's artifacts."""
OTHERWISE = 100
"""Added to a rule's priority for the rule that makes other destinations unreachable."""


@dataclass(frozen=True)
class Access:
    """One of a client's access links; every command may be repeated."""

    link: int
    """Index in the topology."""
    name: str
    end: End
    """The client's end."""
    standing: tuple[str, ...]
    """Lines for ``ip -batch`` when the network is made: the rules of this address."""
    attach: ProcessSpec
    """Add the address with its neighbour and all routes; other addresses stay as they are."""
    detach: ProcessSpec
    """Remove the routes and the address."""
    prefer: ProcessSpec
    """Make this the link of programs that bind no address."""
    destroy: ProcessSpec
    """End the TCP sockets of this address, as Android does; write their list to a file."""
    sockets: ProcessSpec
    """List the TCP sockets of this address: connected, connecting or closing."""

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Every command."""
        return self.attach, self.detach, self.prefer, self.destroy, self.sockets


def plan(routes: AccessRoutes, names: Sequence[str], control: str) -> tuple[Access, ...]:
    """Plan the commands of each access link of a client.

    ``control`` is the TCP congestion control of the client; ``names`` are the names of all links.
    """
    return tuple(
        _access(number, link, names[link], routes, control)
        for number, link in enumerate(routes.access)
    )


def monitor(client: str) -> ProcessSpec:
    """Record every change that the kernel reports, with its time to the microsecond."""
    return ProcessSpec(
        argv=("ip", "-ts", "monitor", "address", "route", "rule"),
        host=client,
        root=TOOLS,
        stdout=MONITOR,
        stderr="network-errors.txt",
    )


def made(links: Sequence[Access]) -> list[str]:
    """Write lines for ``ip -batch`` that attach all access links, on interfaces that are up."""
    return [
        line for one in links for line in (*one.standing, *(one.attach.input or "").splitlines())
    ]


def _access(number: int, link: int, name: str, routes: AccessRoutes, control: str) -> Access:
    pair = routes.ends[link]
    end, far = pair if pair[0].host == routes.client else (pair[1], pair[0])
    entries, table = routes.over(number), FIRST_TABLE + number

    def batch(lines: list[str]) -> ProcessSpec:
        return network_commands.batch(end.host, lines, "ip", network_commands.family(end))

    def listing(*options: str) -> ProcessSpec:
        argv = ("ss", *options, "--tcp", "--numeric", "--no-header", "src", _in_ss(end.address))
        return ProcessSpec(argv, host=end.host, root=TOOLS)

    return Access(
        link=link,
        name=name,
        end=end,
        standing=_standing(end, table),
        attach=batch(_attached(end, far, entries, number, control)),
        detach=batch(_detached(end, table)),
        prefer=batch(_routes(entries, f"metric {PREFERRED_METRIC}", control)),
        destroy=listing("--kill"),
        sockets=listing(),
    )


def _in_ss(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _standing(end: End, table: int) -> tuple[str, ...]:
    return (
        f"rule add from {end.address} lookup {table} priority {table}",
        f"rule add from {end.address} unreachable priority {table + OTHERWISE}",
    )


def _attached(end: End, far: End, entries: Sequence[Entry], number: int, control: str) -> list[str]:
    return [
        *network_commands.address(end, far, by_hand=True),
        *_routes(entries, f"table {FIRST_TABLE + number}", control),
        *_routes(entries, f"metric {METRIC_STEP * (number + 1)}", control),
    ]


def _routes(entries: Sequence[Entry], where: str, control: str) -> list[str]:
    return [network_commands.route(entry, control, where) for entry in entries]


def _detached(end: End, table: int) -> list[str]:
    device = f"dev {end.interface}"
    return [
        f"route flush {device} table main",
        f"route flush {device} table {table}",
        f"address flush {device}",
    ]
