"""Hops as they lie in the network: which packets belong to whose request; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.model.roles import Hop, Roles, hops
from httpbed.model.scenario import Scenario
from httpbed.model.workload import Workload
from httpbed.network.plan import NetworkPlan


@dataclass(frozen=True)
class Leg:
    """A hop with its addresses and links."""

    hop: Hop
    asking_host: str
    answering_host: str
    asking_address: str
    answering_address: str
    links: tuple[int, ...]
    """By index, from who asks to who answers."""
    names: tuple[str, ...]
    """Of those links."""
    downstream: int
    """Direction of the first of them that leads to who asks, as the emulator numbers directions."""

    @property
    def title(self) -> str:
        """Who asks whom."""
        return f"{self.hop.asks}->{self.hop.answers}"

    def is_between(self, connection: Mapping[str, Any]) -> bool:
        """Whether a connection, as the emulator tells of it, is one of this hop."""
        told = (_host(connection["client"]), _host(connection["server"]))
        return told == (self.asking_address, self.answering_address)

    def near(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the link of who asks."""
        return self._on(self.names[0], connections)

    def far(self, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return this hop's connections as seen on the link of who answers, before any loss."""
        return self._on(self.names[-1], connections)

    def _on(self, link: str, connections: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [one for one in connections if one["link"] == link and self.is_between(one)]


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
        return self.legs[0].hop.asks

    @property
    def answering(self) -> list[str]:
        """Names of its proxies and servers, in the order in which a request meets them."""
        return [leg.hop.answers for leg in self.legs]

    @property
    def proxies(self) -> list[str]:
        """Names of its proxies, likewise."""
        asking = {leg.hop.asks for leg in self.legs}
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


def ping_file(leg: Leg) -> str:
    """Name the file with the echoes of a hop."""
    return f"ping-{leg.hop.asks}-{leg.hop.answers}.txt"


def sockets_file(leg: Leg) -> str:
    """Name the file with the accepted sockets of a hop's sender."""
    return f"sockets-{leg.hop.answers}.txt"


def _leg(hop: Hop, scenario: Scenario, net: NetworkPlan) -> Leg:
    asks, answers = scenario.hosts[hop.asks], scenario.hosts[hop.answers]
    way = net.route(asks, answers)
    first, side = way[0]
    return Leg(
        hop=hop,
        asking_host=asks,
        answering_host=answers,
        asking_address=net.ends[first][side].address,
        answering_address=net.address(answers, asks),
        links=tuple(link for link, _ in way),
        names=tuple(scenario.topology.links[link].name for link, _ in way),
        downstream=2 * first + 1 - side,
    )


def _host(endpoint: str) -> str:
    """Take the address out of what Rust prints of an address and a port."""
    return endpoint.rpartition(":")[0].strip("[]")
