"""Addresses and routes: functions of the topology, so that every run has the same ones.

Link number 3 is the network 10.77.3.0/24 (RFC 1918) or fd77:0:0:3::/64 (RFC 4193); its first
host has .1 or ::1, its second .2 or ::2.

A host without a role is a router: it forwards packets for others. Hosts with a role do not forward,
so no path leads through them. A network is reached by the shortest path to an end of it that
forwards; if neither end does, only its own two hosts reach it.

A client with several access links has a routing table for each of them. A program knows a host by
one address, the one that faces the client's first access link. Over another link the client may
reach that host from another side. Then the hosts on that path get a route to this address, and the
host accepts it on whatever link it arrives (RFC 1122, 3.3.4.2: Linux is a weak end system).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network

from httpbed.experiment.topology import Route, Topology, route_length, shortest_routes

Network = IPv4Network | IPv6Network

INTERFACE = "eth0"
MAX_LINKS = 256
"""A link's number is one byte of its addresses."""

_NETWORKS: dict[str, tuple[Network, int]] = {
    "4": (IPv4Network("10.77.0.0/16"), 24),
    "6": (IPv6Network("fd77::/48"), 64),
}
"""By IP version: the networks of the links, and the length of their prefixes."""


@dataclass(frozen=True)
class End:
    """The interface by which a host is on a link."""

    host: str
    interface: str
    """Name on the host."""
    emulator_interface: str
    """Name of the other end of the veth pair, in the emulator's network."""
    address: str
    """The address as programs write it: IPv6 in the form of RFC 5952, without brackets."""
    mac: str
    network: str
    """The link's network in CIDR notation."""

    @property
    def address_in_network(self) -> str:
        """The address with the length of the network's prefix."""
        return f"{self.address}/{self.network.rpartition('/')[2]}"


def link_ends(topology: Topology, index: int, first: int = 0) -> tuple[End, End]:
    """Return both ends of link number ``index``, in the order of its ``between``.

    ``first`` is the number of the topology's first link, for topologies that are joined.
    """
    number = first + index
    network = _link_network(topology.ip_version, number)
    near_end, far_end = (
        End(
            host=host,
            interface=_interface(topology, index, host),
            emulator_interface=f"l{index}{'ab'[side]}",
            address=str(network[side + 1]),
            mac=f"02:00:00:00:{number:02x}:{side + 1:02x}",
            network=str(network),
        )
        for side, host in enumerate(topology.links[index].between)
    )
    return near_end, far_end


def _link_network(ip_version: str, number: int) -> Network:
    if number >= MAX_LINKS:
        msg = f"link number {number} has no address: there are {MAX_LINKS}"
        raise ValueError(msg)
    whole, prefix = _NETWORKS[ip_version]
    size = 1 << (whole.max_prefixlen - prefix)
    return type(whole)((int(whole.network_address) + number * size, prefix))


def _interface(topology: Topology, index: int, host: str) -> str:
    """Name a host's only interface as programs expect it, one of several by its link."""
    several = sum(host in link.between for link in topology.links) > 1
    return f"eth{index}" if several else INTERFACE


Ends = Sequence[tuple[End, End]]


@dataclass(frozen=True)
class Entry:
    """A line of a host's routing table: how it reaches a network."""

    network: str
    """In CIDR notation."""
    own: End
    """The end by which packets leave, and whose address they have."""
    via: End | None
    """The next hop's end; None if the network is that link's own."""


def of_host(
    ends: Ends, host: str, forwarding: AbstractSet[str], without: Collection[int] = ()
) -> Iterator[Entry]:
    """Return a host's routing table, beginning with its own networks, which have the next hops.

    Links with an index in ``without`` are not used. Their networks are reached from their other
    side.
    """
    near = {index for index, pair in enumerate(ends) if host in hosts(pair)} - set(without)
    for index in sorted(near):
        near_end = ends[index][hosts(ends[index]).index(host)]
        yield Entry(near_end.network, near_end, None)
    reached = shortest_routes([hosts(pair) for pair in ends], host, forwarding, without)
    gates_of = forwarding & (reached.keys() - {host})
    for index, pair in enumerate(ends):
        gates = [reached[end] for end in hosts(pair) if end in gates_of]
        if gates and index not in near:
            yield _along(min(gates, key=route_length), ends, pair[0].network)


def of_ends(ends: Ends, host: str) -> list[tuple[End, End]]:
    """Return a host's ends, each with the end at the other side of its link."""
    both_ways = (pair for (one, other) in ends for pair in ((one, other), (other, one)))
    return [(own, far) for own, far in both_ways if own.host == host]


def _along(route: Route, ends: Ends, network: str) -> Entry:
    link, way = route[0]
    return Entry(network, ends[link][way], ends[link][1 - way])


def hosts(pair: tuple[End, End]) -> tuple[str, str]:
    """Name the hosts that a link joins."""
    return pair[0].host, pair[1].host


@dataclass(frozen=True)
class AccessRoutes:
    """The paths of a client that has several links to the network."""

    ends: Ends
    client: str
    access: Sequence[int]
    """Indices of its access links, in order; the client starts on the first."""
    forwarding: AbstractSet[str]

    def over(self, number: int) -> list[Entry]:
        """Return the client's routing table if access link ``number`` were its only one."""
        link = self.access[number]
        entries = list(of_host(self.ends, self.client, self.forwarding, self._all_but(link)))
        for end, ways in self._detours:
            if way := ways[number]:
                entries.append(self._to(end, *way[0]))
        return entries

    def besides(self) -> list[Entry]:
        """Return the client's routes that lead over none of its access links."""
        entries = of_host(self.ends, self.client, self.forwarding, self.access[1:])
        access_ends = [self.ends[link] for link in self.access]
        networks = {pair[0].network for pair in access_ends}
        return [
            entry
            for entry in entries
            if entry.network not in networks and not any(entry.own in pair for pair in access_ends)
        ]

    def on(self, host: str) -> list[Entry]:
        """Return the routes that another host needs in addition to its own."""
        entries = (
            self._to(end, link, side)
            for end, ways in self._detours
            for way in ways
            if way and self._end(way) != end
            for link, side in way[1:]
            if self.ends[link][side].host == host
        )
        return list(dict.fromkeys(entries))

    @cached_property
    def _detours(self) -> list[tuple[End, list[Route]]]:
        """Return the ends whose addresses some access link cannot reach, with the paths."""
        if not self.access:
            return []
        ways = [self._reached(self._all_but(link)) for link in self.access]
        detours = (
            (self._end(way), [reached.get(host, ()) for reached in ways])
            for host, way in self._reached(set(self.access[1:])).items()
            if way and host not in self.forwarding and way[0][0] == self.access[0]
        )
        return [
            (end, routes)
            for end, routes in detours
            if any(way and self._end(way) != end for way in routes)
        ]

    def _reached(self, without: AbstractSet[int]) -> dict[str, Route]:
        links = [hosts(pair) for pair in self.ends]
        return shortest_routes(links, self.client, self.forwarding, without)

    def _all_but(self, link: int) -> set[int]:
        client_links = (index for index, pair in enumerate(self.ends) if self.client in hosts(pair))
        return set(client_links) - {link}

    def _end(self, way: Route) -> End:
        link, side = way[-1]
        return self.ends[link][1 - side]

    def _to(self, known: End, link: int, side: int) -> Entry:
        own, far = self.ends[link][side], self.ends[link][1 - side]
        bits = 128 if ":" in known.address else 32
        return Entry(f"{known.address}/{bits}", own, None if far == known else far)
