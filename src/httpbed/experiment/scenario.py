"""A scenario: the network, the roles and the workload of one treatment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from httpbed.base.units import Seconds
from httpbed.base.value import Value
from httpbed.experiment import workload_kinds
from httpbed.experiment.roles import (
    HANDOVER_MODELS,
    HandoverTable,
    Hop,
    Role,
    Roles,
    TcpBuffers,
)
from httpbed.experiment.topology import Link, Route, Topology
from httpbed.experiment.workload import Workload
from httpbed.experiment.workload_kinds import StatedWorkload

if TYPE_CHECKING:
    from httpbed.experiment.metric import Metric  # whose descriptors take milliseconds to read

    StatedHandover = HandoverTable
else:
    StatedHandover = next(iter(HANDOVER_MODELS.provided()), HandoverTable)
    """The table ``[handover]``, as an addon reads it."""


class Competitor(Roles):
    """Another client, with its proxies and server, that uses the network at the same time."""

    workload: StatedWorkload | None = None
    """What the competitor fetches. Default: the scenario's workload."""
    after: Annotated[Seconds, Field(ge=0)] = 0.0
    """Start of the competitor, as time after the client's start."""


@dataclass(frozen=True)
class ClientGroup:
    """A client with its proxies and servers, and what it fetches or uploads."""

    prefix: str
    """Prefix of its parts' names: empty for the measured client, else ``competitor-1-`` or so."""
    roles: Roles
    workload: Workload
    after_s: float = 0.0
    """Start of the client, in seconds after the measured client's start."""

    def sender(self, hop: Hop) -> str:
        """Return the name of the part that sends the bodies on a hop."""
        return hop.client if self.workload.sender == "client" else hop.server

    def parts(self) -> Iterator[tuple[str, Role, str]]:
        """Yield name, role and host of each part, client first, servers last."""
        for name, role, host in self.roles.parts():
            yield f"{self.prefix}{name}", role, host

    def hops(self) -> list[Hop]:
        """List the hops of the client's requests."""
        return self.roles.hops(self.prefix)


class Scenario(Value):
    """All that a trial builds and does: a treatment with every factor filled in."""

    topology: Topology
    """The network."""
    roles: Roles
    """The client, the proxies and the server. A host without a role is a router."""
    workload: StatedWorkload
    """What is fetched or uploaded."""
    competitors: list[Competitor] = Field(default_factory=list, max_length=16)
    """Other clients and servers that use the network at the same time, to measure fairness."""
    handover: StatedHandover | None = None
    """Links that the client switches between. Default: the client stays on its link."""

    @model_validator(mode="after")
    def _is_connected(self) -> Scenario:
        mistakes = [*self._unknown_hosts(), *self._crowded_hosts(), *self._unknown_links()]
        if not mistakes:
            mistakes = [*self._unreachable(), *self._dead_ends()]
            if self.handover:
                mistakes += self._other_route()
                mistakes += self.handover.mistakes(self.topology, self.hosts, self.workload)
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @cached_property
    def client_groups(self) -> tuple[ClientGroup, ...]:
        """The measured client's group, then that of each competitor."""
        competitors = (
            ClientGroup(
                f"competitor-{number}-",
                competitor,
                competitor.workload or self.workload,
                competitor.after,
            )
            for number, competitor in enumerate(self.competitors, start=1)
        )
        return (ClientGroup("", self.roles, self.workload), *competitors)

    @cached_property
    def words(self) -> frozenset[str]:
        """What of the addons it may be about: its kinds of workload, and hand-overs."""
        return frozenset(
            {
                *(workload.kind for workload in self.workloads()),
                *(["handover"] if self.handover else ()),
            }
        )

    def may_have(self, metric: Metric) -> bool:
        """Whether its trials may have a metric; for some, its programs decide, too."""
        moves = self.handover is not None
        has = {
            "page load": self.workload.kind == "page",
            "competitors": bool(self.competitors),
            "proxies": any(group.roles.proxies for group in self.client_groups),
            "hand-over": moves,
            "migrating client": moves,
        }
        return has.get(metric.applies, True)

    def parts(self) -> Iterator[tuple[str, Role, str]]:
        """Yield name, role and host of each part, competitors last."""
        for group in self.client_groups:
            yield from group.parts()

    def hops(self) -> list[Hop]:
        """List the hops of every client's requests; the measured client's come first."""
        return [hop for group in self.client_groups for hop in group.hops()]

    def senders_of_bodies(self) -> Iterator[tuple[Hop, str]]:
        """Yield each hop with the name of the part that sends the bodies on it."""
        for group in self.client_groups:
            yield from ((hop, group.sender(hop)) for hop in group.hops())

    @cached_property
    def hosts(self) -> dict[str, str]:
        """Map each part's name to its host."""
        return {name: host for name, _, host in self.parts()}

    @cached_property
    def implementations(self) -> dict[str, str]:
        """Map each part's name to its implementation."""
        return {name: role.implementation for name, role, _ in self.parts()}

    def workloads(self) -> list[Workload]:
        """Return the workloads of the measured client and of each competitor."""
        return [group.workload for group in self.client_groups]

    def senders(self) -> dict[str, str]:
        """Map each host with a role to the congestion control of its TCP connections."""
        return {host: role.tcp_control() for _, role, host in self.parts()}

    def tcp_buffers(self) -> dict[str, TcpBuffers]:
        """Map each host with a role to the buffers that are stated for its TCP sockets."""
        return {host: role.tcp_buffers() for _, role, host in self.parts()}

    def initial_windows(self) -> dict[str, int]:
        """Map the hosts whose TCP connections have a stated initial window to it, in packets."""
        stated = ((host, role.tcp_initial_window) for _, role, host in self.parts())
        return {host: window for host, window in stated if window is not None}

    @cached_property
    def routers(self) -> frozenset[str]:
        """Hosts without a role: only they forward packets."""
        return frozenset(self.topology.hosts) - set(self.hosts.values())

    def route(self, client: str, server: str) -> Route:
        """Return the route between two parts: its links, each with its direction."""
        start, goal = self.hosts[client], self.hosts[server]
        return self.topology.route(start, goal, self.routers, self.standby)

    @cached_property
    def access_links(self) -> tuple[int, ...]:
        """Indices of the links of the hand-over, in its order; empty without a hand-over."""
        names = [link.name for link in self.topology.links]
        return tuple(names.index(name) for name in self.handover.links) if self.handover else ()

    @cached_property
    def standby(self) -> frozenset[int]:
        """Indices of the access links that the client does not use at first."""
        return frozenset(self.access_links[1:])

    def access(self) -> Route:
        """Return the route of the client's first hop; its first link is the client's own."""
        first = self.hops()[0]
        return self.route(first.client, first.server)

    def bodies_route(self, hop: Hop, workload: Workload) -> Route:
        """Return the links of a hop from its client on, each with the direction of the bodies."""
        is_up = workload.sender == "client"
        route = self.route(hop.client, hop.server)
        return tuple((link, way if is_up else 1 - way) for link, way in route)

    @property
    def link(self) -> Link:
        """The client's own link."""
        return self.topology.links[self.access()[0][0]]

    def downstream(self) -> int:
        """Return the direction of the client's link towards the client: 0 is ``up``, 1 ``down``."""
        return 1 - self.access()[0][1]

    def bottleneck(self) -> tuple[int, int]:
        """Return the narrowest link of the client's first hop, with the direction of its bodies.

        The rate of a link is divided by the number of hops that send over it. Of links with equal
        rates, the one closest to the client is returned.
        """
        used = Counter(
            place
            for group in self.client_groups
            for hop in group.hops()
            for place in self.bodies_route(hop, group.workload)
        )
        passed = self.bodies_route(self.hops()[0], self.workload)
        return min(passed, key=lambda place: (self._mean_bit_s(*place) or math.inf) / used[place])

    def _mean_bit_s(self, link: int, direction: int) -> int | None:
        return self.topology.links[link].directions()[direction].mean_bit_s()

    def links(self, route: Route) -> list[Link]:
        """Return the links of a route."""
        return [self.topology.links[index] for index, _ in route]

    def rtt_s(self, route: Route) -> float:
        """Return the sum of all delays on a route in both directions, in seconds."""
        return sum(link.rtt_s() for link in self.links(route))

    def ceiling_bit_s(self) -> set[int]:
        """Return the rates over time, in bit/s, of the narrowest link that all bodies pass.

        Links to servers behind a balancing proxy do not count, because bodies pass only one of
        them. Empty if no link has a rate.
        """
        is_balanced = bool(self.roles.server.also_on)
        rates = [
            self.topology.links[link].rates(direction)
            for hop in self.roles.hops()
            if not (is_balanced and hop.server.startswith("server"))
            for link, direction in self.bodies_route(hop, self.workload)
        ]
        return min(filter(None, rates), key=max, default=set())

    def ideal_s(self) -> float:
        """Return the seconds until the last request, and those of all bodies on the narrowest link.

        The link has its mean rate.
        """
        rates = [
            self._mean_bit_s(index, direction)
            for hop in self.roles.hops()
            for index, direction in self.bodies_route(hop, self.workload)
        ]
        limits = [rate for rate in rates if rate]
        bodies_s = self.workload.body_bytes() * 8 / min(limits) if limits else 0.0
        return self.workload.last_request_s + bodies_s

    def _unknown_hosts(self) -> Iterator[str]:
        for name, host in self.hosts.items():
            if host not in self.topology.hosts:
                yield f"the {name} is on host {host!r}, which is not in topology.hosts; add it"

    def _crowded_hosts(self) -> Iterator[str]:
        hosts = list(self.hosts.values())
        for host in sorted({host for host in hosts if hosts.count(host) > 1}):
            names = ", ".join(name for name, place in self.hosts.items() if place == host)
            yield f"host {host!r} has several roles ({names}); give each role a host"

    def _unknown_links(self) -> Iterator[str]:
        """Find links of a hand-over that the client is not connected to."""
        host = self.hosts["client"]
        own = [self.topology.links[index].name for index in self.topology.links_of(host)]
        for name in self.handover.links if self.handover else ():
            if name not in own:
                known = ", ".join(own) or "none"
                yield f"handover.links: {name!r} is not a link of the client; known: {known}"

    def _dead_ends(self) -> Iterator[str]:
        """Find links of a hand-over that do not lead to the server of the client's first hop."""
        first = self.hops()[0]
        start, goal = self.hosts[first.client], self.hosts[first.server]
        own = set(self.topology.links_of(start))
        for index in self.access_links:
            link, others = self.topology.links[index], own - {index}
            if len(self.access_links) > 1 and goal in link.between:
                yield (
                    f"{link.name} ends at the {first.server}, so the other links cannot reach the"
                    " same address; put a router between them"
                )
            elif not self.topology.route(start, goal, self.routers, others):
                yield (
                    f"no route leads over {link.name} to the {first.server}; only hosts without a"
                    " role forward"
                )

    def _other_route(self) -> Iterator[str]:
        """Find a client whose route begins on another link than its hand-over."""
        first, used = self.topology.links[self.access_links[0]], self.access()
        if used and self.link != first:
            yield (
                f"the client's route leads over {self.link.name}, not over {first.name}; name the"
                " client's link first in handover.links"
            )

    def _unreachable(self) -> Iterator[str]:
        for hop in self.hops():
            if not self.route(hop.client, hop.server):
                yield (
                    f"no route leads from the {hop.client} to the {hop.server}; only hosts without"
                    " a role forward"
                )


# Read the scenarios of many treatments, validating each shared part once.
#
# An experiment with a thousand levels has thousands of scenarios, and most of their parts are
# shared objects (see :class:`httpbed.experiment.document.ExperimentDocument`). A part that is valid
# in one scenario is valid in all. Checks across parts, such as which role is on which host, run for
# each scenario.


MAX_SHARED_PARTS = 20_000
"""Parts of scenarios that are cached for sharing: some kB each."""
_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(Annotated[info.annotation, info])  # type: ignore[arg-type]
    for name, info in Scenario.model_fields.items()
}


@dataclass
class _Part:
    source: Any
    """The part itself: keeping it alive keeps its ``id`` unique."""
    value: Any
    is_valid: bool
    is_reported: bool = False
    """Whether an earlier document had the same invalid part."""


def of_campaign(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a campaign's scenario without what only addons read that are not installed."""
    return {**document, "workload": workload_kinds.of_campaign(document.get("workload"))}


class ScenarioReader:
    """Reads scenarios from their documents; recognises a shared part by its object identity."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], _Part] = {}

    def read(self, document: Mapping[str, Any]) -> Scenario:
        """Return a scenario, as :meth:`Scenario.model_validate` does.

        Raises:
            ValidationError: With every mistake in the document.
        """
        parts = {name: self._part(name, source) for name, source in document.items()}
        if all(part.is_valid for part in parts.values()):
            return Scenario.model_validate({name: part.value for name, part in parts.items()})
        return Scenario.model_validate(document)

    def may_have_new_mistake(self, document: Mapping[str, Any]) -> bool:
        """Whether reading a document may find a mistake that no earlier document had.

        It cannot if every invalid part was in an earlier document: checks across parts run only
        when all parts are valid.
        """
        parts = [self._part(name, source) for name, source in document.items()]
        invalid = [part for part in parts if not part.is_valid]
        unreported = [part for part in invalid if not part.is_reported]
        for part in unreported:
            part.is_reported = True
        return not invalid or bool(unreported)

    def _part(self, name: str, source: Any) -> _Part:
        key = (name, id(source))
        if key not in self._parts:
            if len(self._parts) >= MAX_SHARED_PARTS:
                self._parts.clear()
            self._parts[key] = _validated(name, source)
        return self._parts[key]


def _validated(name: str, source: Any) -> _Part:
    try:
        return _Part(source, _ADAPTERS[name].validate_python(source), is_valid=True)
    except ValidationError:
        return _Part(source, None, is_valid=False)
