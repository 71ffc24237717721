"""Hops as they lie in the network: which packets belong to whose request; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from httpbed.experiment.roles import Hop, Roles, hops
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Workload
from httpbed.network.plan import NetworkPlan


@dataclass(frozen=True)
class Way:
    """Links from who asks to who answers, and the address that is asked from."""

    asking_address: str
    links: tuple[int, ...]
    """By index, from who asks to who answers."""
    names: tuple[str, ...]
    """Of those links."""
    downstream: int
    """Direction of the first of them that leads to who asks, as the emulator numbers directions."""
    over: int | None = None
    """The access link that it begins with, of a client's that has several ways."""


@dataclass(frozen=True)
class Leg:
    """A hop with its addresses and links."""

    hop: Hop
    asking_host: str
    answering_host: str
    answering_address: str
    ways: tuple[Way, ...]
    """One for each access link of a client's that goes from one to the next; else the only one."""

    @property
    def title(self) -> str:
        """Who asks whom."""
        return f"{self.hop.client}->{self.hop.server}"

    def title_over(self, way: Way) -> str:
        """Name one of the ways."""
        return f"{self.title} over {way.names[0]}" if len(self.ways) > 1 else self.title

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the links of the first way."""
        return self.ways[0].names

    @property
    def downstream(self) -> int:
        """Direction of its first link that leads to who asks, as the emulator numbers them."""
        return self.ways[0].downstream

    def is_between(self, connection: Mapping[str, Any]) -> bool:
        """Whether a connection, as the emulator tells of it, is one of this hop."""
        asking = {way.asking_address for way in self.ways}
        is_of_who_answers = host(connection["server"]) == self.answering_address
        return is_of_who_answers and host(connection["client"]) in asking

    def near(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the links of who asks."""
        return self._on({way.names[0] for way in self.ways}, connections)

    def far(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the links of who answers, before any loss."""
        return self._on({way.names[-1] for way in self.ways}, connections)

    def over(self, link: str, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on one link."""
        return self._on({link}, connections)

    def first_packet_ns(self, link: Mapping[str, Any]) -> int | None:
        """Return when the first packet of who asks came, by the emulator's result.

        Since the emulator's start; None if none came.
        """
        near = self.near(link.get("connections", ()))
        times = [one["client_first_ns"] for one in near if one["client_first_ns"] is not None]
        return int(min(times)) - int(link["started_ns"]) if times else None

    def opened(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Leave out what only goes on from another address: its first datagram is no handshake's.

        RFC 9000 section 9: a connection that migrates makes no new one. A datagram that is neither
        may be a short header that is greased (RFC 9287), unless no other begins at all.
        """
        near = self.near(connections)
        begun = [one for one in near if one.get("opening") not in {"short", "other"}]
        return begun or [one for one in near if one.get("opening") != "short"]

    def _on(
        self, links: AbstractSet[str], connections: Iterable[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        return [one for one in connections if one["link"] in links and self.is_between(one)]


@dataclass(frozen=True)
class Chain:
    """A client with all who answer it, directly or through others."""

    prefix: str
    """Of its parts' names: empty, or such as ``competitor-1-``."""
    workload: Workload
    roles: Roles
    legs: tuple[Leg, ...]
    """Its hops, the client's first."""

    @property
    def client(self) -> str:
        """Name of the part that asks first."""
        return self.legs[0].hop.client

    @property
    def answering(self) -> list[str]:
        """Names of its proxies and servers, in the order in which a request meets them."""
        return [leg.hop.server for leg in self.legs]

    @property
    def proxies(self) -> list[str]:
        """Names of its proxies, likewise."""
        asking = {leg.hop.client for leg in self.legs}
        return [name for name in self.answering if name in asking]

    @property
    def servers(self) -> list[str]:
        """Names of its servers."""
        return [name for name in self.answering if name not in self.proxies]


def chains(scenario: Scenario, found: Sequence[Leg]) -> tuple[Chain, ...]:
    """Group hops by the client for whom they are; the measured one's come first."""
    competitors = enumerate(scenario.competitors, start=1)
    casts = [("", scenario.roles)]
    casts += [(f"competitor-{number}-", one.roles()) for number, one in competitors]
    rest, chained = list(found), []
    for (prefix, roles), workload in zip(casts, scenario.workloads(), strict=True):
        count = len(hops(roles))
        chained.append(Chain(prefix, workload, roles, tuple(rest[:count])))
        rest = rest[count:]
    return tuple(chained)


def legs(scenario: Scenario, net: NetworkPlan) -> tuple[Leg, ...]:
    """Find every hop of a scenario in its network."""
    return tuple(_leg(hop, scenario, net) for hop in scenario.hops())


def ping_file(leg: Leg, way: Way) -> str:
    """Name the file with the echoes of a hop's way."""
    over = f"-{way.names[0]}" if len(leg.ways) > 1 else ""
    return f"ping-{leg.hop.client}-{leg.hop.server}{over}.txt"


def sockets_file(leg: Leg) -> str:
    """Name the file with the accepted sockets of a hop's sender."""
    return f"sockets-{leg.hop.server}.txt"


def _leg(hop: Hop, scenario: Scenario, net: NetworkPlan) -> Leg:
    asks, answers = scenario.hosts[hop.client], scenario.hosts[hop.server]
    own = [access.link for access in net.access if access.end.host == asks]
    over: list[int | None] = [*own] or [None]
    return Leg(
        hop=hop,
        asking_host=asks,
        answering_host=answers,
        answering_address=net.address(answers, asks),
        ways=tuple(_way(asks, answers, net, link) for link in over),
    )


def _way(asks: str, answers: str, net: NetworkPlan, over: int | None) -> Way:
    route = net.route(asks, answers, over)
    first, side = route[0]
    return Way(
        asking_address=net.ends[first][side].address,
        links=tuple(link for link, _ in route),
        names=tuple(net.topology.links[link].name for link, _ in route),
        downstream=2 * first + 1 - side,
        over=over,
    )


def host(endpoint: str) -> str:
    """Take the address out of what Rust prints of an address and a port."""
    return endpoint.rpartition(":")[0].strip("[]")
