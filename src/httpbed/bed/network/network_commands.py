"""The commands that make a network's links on its hosts, and change a client's access links.

Neighbours are permanent entries, so no ARP crosses a link: one lost request would cost a second.
IPv6 would also announce itself (RFC 4861, RFC 3810). An interface without ARP and multicast joins
no group that it would have to report, and one that makes no address itself solicits no router.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.bed.network import routes
from httpbed.bed.network.routes import AccessRoutes, End, Ends, Entry
from httpbed.bed.sandbox.sandbox_spec import LINK, TOOLS, TRIAL_FOLDER, ProcessSpec
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.roles import TcpBuffers

TUN_QUEUE_FRAMES = 8192
"""Queue until the emulator reads the packets; the default of 500 packets is 6 ms at 1 Gbit/s."""
IPV6_MIN_MTU_BYTES = 1280
"""RFC 8200, 5."""

NO_NEIGHBOUR_DISCOVERY: Mapping[str, str] = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}
"""In the emulator's own network: IPv6 would announce itself on every interface."""
_NO_MEMORY: Mapping[str, str] = {"net.ipv4.tcp_no_metrics_save": "1"}
"""TCP keeps no metrics of earlier connections."""
_LOW_PORTS: Mapping[str, str] = {"net.ipv4.ip_unprivileged_port_start": "0"}
"""For servers, which hold no capability; IPv6 heeds it, too."""
_ASK_FOR_ECN: Mapping[str, str] = {"net.ipv4.tcp_ecn": "1"}
"""Clients request ECN (RFC 3168, 6.1.1). By default Linux only accepts it, and a queue would find
no TCP packet to mark. IPv6 heeds it, too."""
HOST_SYSCTLS: Mapping[str, str] = {**_NO_MEMORY, **_LOW_PORTS, **NO_NEIGHBOUR_DISCOVERY}
"""On every host that speaks IPv4."""
_QUIET_IPV6: Mapping[str, str] = {
    "net.ipv6.conf.all.disable_ipv6": "0",
    "net.ipv6.conf.default.disable_ipv6": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.default.addr_gen_mode": "1",
}
"""On every host that speaks IPv6; 1 is to make no link-local address."""
_BUFFERS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
"""Receive and send buffer of new TCP sockets: least, initial and largest bytes. IPv6 heeds them,
too."""
_FORWARDING = {"4": "net.ipv4.ip_forward", "6": "net.ipv6.conf.all.forwarding"}


def sysctls(
    ip_version: str, *, forwards: bool, uses_ecn: bool, buffers: TcpBuffers
) -> dict[str, str]:
    """What is set in a host's network before anything is in it.

    Smallest, initial and largest size of stated ``buffers`` are the same, so the kernel does not
    adapt them.
    """
    quiet = HOST_SYSCTLS if ip_version == "4" else {**_NO_MEMORY, **_LOW_PORTS, **_QUIET_IPV6}
    further = _ASK_FOR_ECN if uses_ecn else {}
    fixed = {
        name: f"{size} {size} {size}"
        for name, size in zip(_BUFFERS, buffers, strict=True)
        if size is not None
    }
    return {**quiet, **further, **fixed, **({_FORWARDING[ip_version]: "1"} if forwards else {})}


def veths(ends: Sequence[End]) -> list[str]:
    """Write lines that join each end to the emulator's network."""
    return [line for end in ends for line in _pair(end)]


def _pair(end: End) -> list[str]:
    near, mtu = end.emulator_interface, MTU_BYTES
    peer = f"peer name {end.interface} mtu {mtu} address {end.mac} netns {end.host}"
    return [
        f"link add name {near} mtu {mtu} type veth {peer}",
        f"link set dev {near} up",
    ]


def moved(end: End) -> str:
    """Return a line that moves a TUN device to its host; the emulator made it and keeps it open."""
    return f"link set dev {end.emulator_interface} netns {end.host} name {end.interface}"


def addressing(  # noqa: PLR0913 - optional arguments have names
    ends: Ends,
    host: str,
    table: Iterable[Entry],
    control: str,
    *,
    later: Sequence[str] = (),
    without: Collection[int] = (),
    by_tun: bool = False,
) -> ProcessSpec:
    """Give a host its addresses, neighbours and routes.

    ``control`` is the TCP congestion control of all that it sends; with ``lock`` before it,
    programs may choose no other, and ``initcwnd`` may follow it. Links in ``without`` get no
    address here; the lines in ``later`` give them one. With ``by_tun`` the emulator made the
    devices, which have frames like a veth's.
    """
    host_ends = routes.of_ends(ends, host)
    addressed = routes.of_ends([pair for n, pair in enumerate(ends) if n not in without], host)
    lines = [_as_veth(end) for end, _ in host_ends] if by_tun else []
    lines.append("link set dev lo up")
    for end, far in host_ends:
        lines += [*_up(end), *(address(end, far) if (end, far) in addressed else ())]
    lines += [*(route(entry, control) for entry in table), *later]
    return batch(host, lines, *([family(host_ends[0][0])] if later else []))


def family(own: End) -> str:
    """Return the option by which ``ip`` takes rules for its version, and flushes no other."""
    return "-6" if ":" in own.address else "-4"


def _as_veth(own: End) -> str:
    return f"link set dev {own.interface} address {own.mac} txqueuelen {TUN_QUEUE_FRAMES}"


def _up(own: End) -> list[str]:
    device = f"dev {own.interface}"
    return _up_quietly(device) if ":" in own.address else [f"link set {device} up"]


def address(own: End, far: End, *, by_hand: bool = False) -> list[str]:
    """Write lines that give an interface its address, and its neighbour's.

    ``by_hand`` the lines may be repeated, and the kernel adds no route to the address's network.
    """
    device, verb = f"dev {own.interface}", "replace" if by_hand else "add"
    options = [" nodad"] if ":" in own.address else []
    options += [" noprefixroute"] if by_hand or ":" in own.address else []
    return [
        f"address {verb} {own.address_in_network} {device}{''.join(options)}",
        f"neighbour {verb} {far.address} lladdr {far.mac} {device} nud permanent",
    ]


def _up_quietly(device: str) -> list[str]:
    """Make IPv6 leave the device, whose MTU becomes too small for it, and join it again.

    If the host forwards, the device is in a multicast group already, which IPv6 would report.
    """
    return [
        f"link set {device} mtu {IPV6_MIN_MTU_BYTES - 1} arp off multicast off",
        f"link set {device} mtu {MTU_BYTES} up",
    ]


def route(entry: Entry, control: str, where: str = "") -> str:
    """Write a line that sets a route; ``where`` says in which table, or with which metric."""
    own, via = entry.own, f" via {entry.via.address}" if entry.via else ""
    way = f"{via} dev {own.interface} src {own.address}{where and f' {where}'}"
    return f"route replace {entry.network}{way} congctl {control}"


def offloads(end: End) -> ProcessSpec:
    """Switch off what makes frames larger than the wire's (link-level segmentation)."""
    return ProcessSpec(
        argv=("ethtool", "-K", end.interface, "tx", "off", "gro", "off"),
        host=end.host,
        root=TOOLS,
        stdout="offloads.txt",
        stderr="network-errors.txt",
    )


def emulator(config: Mapping[str, Any], traces: Mapping[str, str]) -> ProcessSpec:
    """Start the emulator."""
    return ProcessSpec(
        argv=(f"/bin/{LINK}", f"{TRIAL_FOLDER}/link.json"),
        files={"link.json": json.dumps(config, indent=1) + "\n", **traces},
        stderr="link-errors.txt",
        lines=True,
    )


def batch(host: str | None, lines: Sequence[str], *options: str) -> ProcessSpec:
    """Run lines of ``ip``."""
    return ProcessSpec(
        argv=("ip", *options, "-batch", "-"),
        host=host,
        root=TOOLS,
        input="".join(f"{line}\n" for line in lines),
        stderr="network-errors.txt",
    )


# A client's access links: what its operating system does when a link comes, goes or is preferred.
#
# A host with two networks has two addresses. If routes depended on the destination alone, every
# packet would leave by the better route whatever its source, and networks drop packets with another
# network's source address (BCP 38). So the source decides first, as RFC 8028 asks for and as
# Android does for each network: a rule ``from ADDRESS`` leads to a table with the routes over this
# link alone. A program that has bound an address uses that address's link.
#
# A program that has not bound one gets an address from its route (``src``, before all rules of RFC
# 6724). Its route is the one in the main table with the lowest metric: 100 on the first access
# link, 200 on the second, ...; 50 on the link that is preferred later. Programs hear of these
# changes by netlink (RFC 3549).
#
# What happens when an address goes:
#
# * IPv4 removes every route that has the address as its source; IPv6 leaves these routes without a
#   source. So routes are deleted first: no packet leaves by one link with another link's address.
# * The rule stays, and a second rule behind it says "unreachable". Without it IPv6, which does not
#   check whether a bound source is still an address of the host, would use the next link. (A Linux
#   desktop does, and an operator then drops the packet. Android's rules end like these.)
# * The kernel does not tell TCP connections, which wait for their timers. Android ends them
#   (SOCK_DESTROY: ``ss -K``), so that programs get ECONNABORTED at once. QUIC, over UDP, gets
#   ENETUNREACH when it sends.
# * The last IPv4 address of an interface takes the neighbours with it, even permanent ones. They
#   are added again with the address.
#
# Tables are 101, 102, ...: all above 0 are free except 253 to 255 (default, main, local). A rule's
# priority is its table's number; a second rule has 100 more: behind that of local (0), before that
# of main (32766). Every route has the sender's ``congctl``: TCP reads the route that it takes, not
# the main table.


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


def plan_access(routes: AccessRoutes, names: Sequence[str], control: str) -> tuple[Access, ...]:
    """Plan the commands of each access link of a client.

    ``control`` is as for :func:`addressing`; ``names`` are the names of all links.
    """
    return tuple(
        _access(number, link, names[link], routes, control)
        for number, link in enumerate(routes.access)
    )


def access_monitor(client: str) -> ProcessSpec:
    """Record every change that the kernel reports, with its time to the microsecond."""
    return ProcessSpec(
        argv=("ip", "-ts", "monitor", "address", "route", "rule"),
        host=client,
        root=TOOLS,
        stdout=MONITOR,
        stderr="network-errors.txt",
    )


def access_lines(links: Sequence[Access]) -> list[str]:
    """Write lines for ``ip -batch`` that attach all access links, on interfaces that are up."""
    return [
        line for link in links for line in (*link.standing, *(link.attach.input or "").splitlines())
    ]


def _access(number: int, link: int, name: str, routes: AccessRoutes, control: str) -> Access:
    pair = routes.ends[link]
    end, far = pair if pair[0].host == routes.client else (pair[1], pair[0])
    entries, table = routes.over(number), FIRST_TABLE + number

    def by_ip(lines: list[str]) -> ProcessSpec:
        return batch(end.host, lines, family(end))

    def listing(*options: str) -> ProcessSpec:
        argv = ("ss", *options, "--tcp", "--numeric", "--no-header", "src", _in_ss(end.address))
        return ProcessSpec(argv, host=end.host, root=TOOLS)

    return Access(
        link=link,
        name=name,
        end=end,
        standing=_standing(end, table),
        attach=by_ip(_attached(end, far, entries, number, control)),
        detach=by_ip(_detached(end, table)),
        prefer=by_ip(_access_routes(entries, f"metric {PREFERRED_METRIC}", control)),
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
        *address(end, far, by_hand=True),
        *_access_routes(entries, f"table {FIRST_TABLE + number}", control),
        *_access_routes(entries, f"metric {METRIC_STEP * (number + 1)}", control),
    ]


def _access_routes(entries: Sequence[Entry], where: str, control: str) -> list[str]:
    return [route(entry, control, where) for entry in entries]


def _detached(end: End, table: int) -> list[str]:
    device = f"dev {end.interface}"
    return [
        f"route flush {device} table main",
        f"route flush {device} table {table}",
        f"address flush {device}",
    ]
