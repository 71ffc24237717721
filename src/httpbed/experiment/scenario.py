"""One situation, complete: the network, who takes which role, and what is fetched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from pydantic import Field, model_validator

from httpbed.experiment.handover import TRIGGER, AfterBytes, Handover
from httpbed.experiment.roles import ClientRole, Hop, ProxyRole, Role, Roles, ServerRole, hops
from httpbed.experiment.route import Route
from httpbed.experiment.topology import Link, Topology
from httpbed.experiment.units import Seconds
from httpbed.experiment.value import Value
from httpbed.experiment.workload import Workload


class Competitor(Value):
    """A client and a server of their own that share the network meanwhile."""

    client: ClientRole
    proxies: list[ProxyRole] = Field(default_factory=list, max_length=8)
    """Reverse proxies between the two, in the order in which a request meets them."""
    server: ServerRole
    workload: Workload | None = None
    """What it fetches; by default the same as the others."""
    after: Annotated[Seconds, Field(ge=0)] = 0.0
    """How long after the client it begins."""

    def roles(self) -> Roles:
        """Return them as those who take part."""
        return Roles(client=self.client, proxies=self.proxies, server=self.server)


class Scenario(Value):
    """What a trial builds and does: a treatment with every factor filled in."""

    topology: Topology
    """The network."""
    roles: Roles
    """Who takes which role. A host without a role is a router."""
    workload: Workload
    """What is fetched."""
    competitors: list[Competitor] = Field(default_factory=list, max_length=16)
    """Who else uses the network at the same time, to see how it is shared."""
    handover: Handover | None = None
    """Links between which the client goes; absent, it stays where it is."""

    @model_validator(mode="after")
    def _is_connected(self) -> Scenario:
        strangers = [*self._strangers(), *self._crowded(), *self._strange_links()]
        mistakes = strangers or [
            *self._unreachable(),
            *self._dead_ends(),
            *self._misled(),
            *self._late_handover(),
        ]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    def parts(self) -> Iterator[tuple[str, Role, str]]:
        """Yield name, role and host of each that takes part, competitors last."""
        yield from self.roles.parts()
        for number, competitor in enumerate(self.competitors, start=1):
            for name, role, host in competitor.roles().parts():
                yield f"competitor-{number}-{name}", role, host

    def hops(self) -> list[Hop]:
        """List the hops of every client's requests; the measured client's come first."""
        found = hops(self.roles)
        for number, competitor in enumerate(self.competitors, start=1):
            found += hops(competitor.roles(), f"competitor-{number}-")
        return found

    @cached_property
    def hosts(self) -> dict[str, str]:
        """Map each part's name to its host."""
        return {name: host for name, _, host in self.parts()}

    @cached_property
    def implementations(self) -> dict[str, str]:
        """Map each part's name to its implementation."""
        return {name: role.implementation for name, role, _ in self.parts()}

    def clients(self) -> Iterator[tuple[ClientRole, Workload]]:
        """Yield the client and each competitor's, with what it fetches."""
        yield self.roles.client, self.workload
        for competitor in self.competitors:
            yield competitor.client, competitor.workload or self.workload

    def workloads(self) -> list[Workload]:
        """List what the client and each competitor fetch."""
        return [workload for _, workload in self.clients()]

    def senders(self) -> dict[str, str]:
        """Map each host with a role to the congestion control of what it sends by TCP."""
        return {host: role.tcp_control() for _, role, host in self.parts()}

    @cached_property
    def routers(self) -> frozenset[str]:
        """Hosts that take no role: they forward, and no other does."""
        return frozenset(self.topology.hosts) - set(self.hosts.values())

    def route(self, client: str, server: str) -> Route:
        """Return the route between two parts: its links, each with the direction it takes."""
        start, goal = self.hosts[client], self.hosts[server]
        return self.topology.route(start, goal, self.routers, self.standby)

    @cached_property
    def access_links(self) -> tuple[int, ...]:
        """Indices of the links between which the client goes, in that order; else none."""
        names = [link.name for link in self.topology.links]
        return tuple(names.index(name) for name in self.handover.links) if self.handover else ()

    @cached_property
    def standby(self) -> frozenset[int]:
        """Indices of those that the client is not on at first."""
        return frozenset(self.access_links[1:])

    def access(self) -> Route:
        """Return the way from the client to whoever answers it; its first link is the client's."""
        first = self.hops()[0]
        return self.route(first.client, first.server)

    @property
    def link(self) -> Link:
        """The client's own link."""
        return self.topology.links[self.access()[0][0]]

    def downstream(self) -> int:
        """Index of that link's direction towards the client: 0 is ``up``, 1 is ``down``."""
        return 1 - self.access()[0][1]

    def bottleneck(self) -> tuple[int, int]:
        """Return the narrowest link from whoever answers the client to it, with its direction.

        A link that others send over as well is narrower by their number. Of equals it is the one
        next to the client.
        """
        used = Counter(
            (link, 1 - way)
            for hop in self.hops()
            for link, way in self.route(hop.client, hop.server)
        )
        ways = [(link, 1 - way) for link, way in self.access()]
        return min(ways, key=lambda one: (self._mean_bit_s(*one) or math.inf) / used[one])

    def _mean_bit_s(self, link: int, way: int) -> int | None:
        return self.topology.links[link].directions()[way].mean_bit_s()

    def links(self, route: Route) -> list[Link]:
        """Return the links of a way."""
        return [self.topology.links[index] for index, _ in route]

    def rtt_s(self, route: Route) -> float:
        """Seconds of all delays on a way, there and back."""
        return sum(link.rtt_s() for link in self.links(route))

    def ceiling_bit_s(self) -> set[int]:
        """Return the rates, by turns, of the narrowest link that all answers have to pass.

        Where a proxy balances over servers, none of their links is such a one. Empty if unlimited.
        """
        passed = [hop for hop in hops(self.roles) if not self._is_balanced(hop)]
        ways = [
            (link, 1 - way) for hop in passed for link, way in self.route(hop.client, hop.server)
        ]
        rates = [self.topology.links[link].rates(way) for link, way in ways]
        return min(filter(None, rates), key=max, default=set())

    def _is_balanced(self, hop: Hop) -> bool:
        return bool(self.roles.server.also_on) and hop.server.startswith("server")

    def ideal_s(self) -> float:
        """Seconds that the workload takes at the rate of the narrowest link, with nothing else."""
        rates = [
            self._mean_bit_s(index, 1 - way)
            for hop in hops(self.roles)
            for index, way in self.route(hop.client, hop.server)
        ]
        limits = [rate for rate in rates if rate]
        return self.workload.body_bytes() * 8 / min(limits) if limits else 0.0

    def _strangers(self) -> Iterator[str]:
        for name, host in self.hosts.items():
            if host not in self.topology.hosts:
                yield f"the {name} is on host {host!r}, which is not in topology.hosts"

    def _crowded(self) -> Iterator[str]:
        hosts = list(self.hosts.values())
        for host in sorted({host for host in hosts if hosts.count(host) > 1}):
            names = [name for name, where in self.hosts.items() if where == host]
            yield f"host {host!r} has {len(names)} roles ({', '.join(names)}): give each a host"

    def _strange_links(self) -> Iterator[str]:
        """Find links of a hand-over that are not the client's."""
        host = self.hosts["client"]
        own = [self.topology.links[index].name for index in self.topology.links_of(host)]
        for name in self.handover.links if self.handover else ():
            if name not in own:
                known = ", ".join(own) or "none"
                yield f"handover.links names {name!r}; the client's links: {known}"

    def _late_handover(self) -> Iterator[str]:
        """Find a hand-over that waits for more than there will be, or disturbs a page."""
        when, size = self.handover and self.handover.when, self.workload.body_bytes()
        if self.handover and self.workload.kind == "page":
            yield "a hand-over is measured in a download: leave it out, or fetch a file"
            return
        if isinstance(when, AfterBytes) and when.delivered > size:
            yield (
                f"handover.when waits for {when.delivered} bytes of IP packets, and only {size} are"
                " fetched, which headers make little more: let it come earlier, or fetch"
                " more"
            )

    def _dead_ends(self) -> Iterator[str]:
        """Find links of a hand-over by which the client does not reach whom it asks."""
        first = self.hops()[0]
        start, goal = self.hosts[first.client], self.hosts[first.server]
        own = set(self.topology.links_of(start))
        for index in self.access_links:
            link, others = self.topology.links[index], own - {index}
            if len(self.access_links) > 1 and goal in link.between:
                yield (
                    f"{link.name} ends at the {first.server} itself, whose address there no other"
                    " link leads to: put a router between them"
                )
            elif not self.topology.route(start, goal, self.routers, others):
                yield f"no way leads over {link.name} to the {first.server}: only routers forward"

    def _misled(self) -> Iterator[str]:
        """Find what would be taken for something else: a link, the side of a NAT, an event."""
        if self.handover is None:
            return
        first, used = self.topology.links[self.access_links[0]], self.access()
        if used and self.link != first:
            yield f"the client's way leads over {self.link.name}, not over {first.name}"
        if self.handover.kind == "NAT rebinding" and first.between[0] != self.hosts["client"]:
            yield f"the NAT of {first.name} is at its second host: let the client be its first"
        for link in self.topology.links:
            if any(event.name == TRIGGER for event in link.events):
                yield f"an event of {link.name} is named {TRIGGER!r}, as the hand-over's own is"

    def _unreachable(self) -> Iterator[str]:
        for hop in self.hops():
            if not self.route(hop.client, hop.server):
                yield (
                    f"no way leads from the {hop.client} to the {hop.server}: only hosts without"
                    " a role forward"
                )
