"""Hosts, the links between them, and the impairments of each direction of a link."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, Tag, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from httpbed.base import spellings
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import BitRate, Bytes, Seconds, Share
from httpbed.base.value import Value, form_by_key
from httpbed.experiment import profiles
from httpbed.experiment.impairments import rate as rates
from httpbed.experiment.impairments.delay import Delay
from httpbed.experiment.impairments.descriptor import DIRECTIONS
from httpbed.experiment.impairments.loss import Listed, Replay
from httpbed.experiment.impairments.rate import MTU_BYTES, OVERHEADS, Steps, TokenBucket
from httpbed.experiment.impairments.registry import Impaired, OneWay

# Shortest routes between hosts of a network.
#
# The length of a route is its number of links. A tie between two routes is decided by the highest
# link index that only one of them has: that route is longer. So no two routes have equal length,
# the return route is the reverse of the route, and each part of a shortest route is itself
# shortest. Hosts that look up their next hop independently therefore agree on the route.


Route = tuple[tuple[int, int], ...]
"""Links by index, each with its direction: 0 from its first host to its second, 1 back."""


def route_length(route: Route) -> tuple[int, int]:
    """Return a route's length, which differs for any two routes between the same hosts."""
    return len(route), sum(1 << link for link, _ in route)


def shortest_routes(
    links: Sequence[tuple[str, str]],
    start: str,
    forwarding: Collection[str],
    without: Collection[int] = (),
) -> dict[str, Route]:
    """Return the shortest route to every reachable host (Dijkstra 1959)."""
    routes: dict[str, Route] = {}
    waiting: list[tuple[tuple[int, int], str, Route]] = [((0, 0), start, ())]
    while waiting:
        _, host, route = heapq.heappop(waiting)
        if host in routes:
            continue
        routes[host] = route
        if host != start and host not in forwarding:
            continue
        for index, between in enumerate(links):
            if host in between and index not in without:
                side = between.index(host)
                longer = (*route, (index, side))
                heapq.heappush(waiting, (route_length(longer), between[1 - side], longer))
    return routes


# Changes of a running link: at given times, or at events.


LATEST_CHANGE_S = 86_400.0
ACTIONS = ("rate", "delay", "loss", "state")


class Action(Value):
    """A change of one condition."""

    direction: Literal["up", "down"] | None = None
    """``up`` is from the first host to the second; by default both directions change."""
    rate: BitRate | None = None
    """New rate, also for the packet in service; only of a constant rate or a token bucket."""
    delay: Delay | None = None
    """New one-way delay, of packets that have not left the queue."""
    loss: Share | None = None
    """New probability of independent loss; it replaces any other loss."""
    state: Literal["up", "down"] | None = None
    """``down``: packets that arrive or wait are dropped; ``up``: packets pass again."""

    @model_validator(mode="after")
    def _changes_one_thing(self) -> Action:
        changed = self.changed_fields()
        if len(changed) > 1:
            raise RejectedValueError(f"changes {' and '.join(changed)}", "write an entry for each")
        return self

    def changed_fields(self) -> list[str]:
        """Return the names of the conditions that change: at most one."""
        return [name for name in ACTIONS if getattr(self, name) is not None]


class ScheduleEntry(Action):
    """A change at a given time."""

    at: Annotated[Seconds, Field(le=LATEST_CHANGE_S)]
    """Time since the client's start."""

    @model_validator(mode="after")
    def _changes_something(self) -> ScheduleEntry:
        if not self.changed_fields():
            raise RejectedValueError("changes nothing", f"give one of {', '.join(ACTIONS)}")
        return self


class Delivered(Value):
    """A number of bytes has been delivered to a host."""

    delivered: Annotated[Bytes, Field(ge=1)]
    """IP bytes since the client's start."""
    to: str
    """The receiving host."""


class FirstPacket(Value):
    """The first packet with a payload arrives from a host."""

    first_packet_of: str
    """The sending host."""


class Handshake(Value):
    """The handshake of a connection is complete, as seen on the wire."""

    handshake: Literal[True]
    """``true``."""


When = Annotated[
    Annotated[Delivered, Tag("<delivered>")]
    | Annotated[FirstPacket, Tag("<first packet>")]
    | Annotated[Handshake, Tag("<handshake>")],
    form_by_key(
        '{ delivered = "2 MB", to = "client" }',
        delivered="<delivered>",
        to="<delivered>",
        first_packet_of="<first packet>",
        handshake="<handshake>",
    ),
]


class Event(Action):
    """An event that is reported once, and may change a condition."""

    name: str = Field(pattern=spellings.LINK)
    """Its name in the evidence: lower-case letters, digits and hyphens."""
    when: When
    """The condition for the event."""
    after: Annotated[Seconds, Field(le=LATEST_CHANGE_S)] = 0.0
    """Time from the event to the change."""

    def host(self) -> str | None:
        """Return the host that ``when`` names; None if it names none."""
        if isinstance(self.when, Delivered):
            return self.when.to
        return self.when.first_packet_of if isinstance(self.when, FirstPacket) else None


LinkName = Annotated[str, Field(pattern=spellings.LINK)]


class _KnownProfile:
    """Lists the profiles in the JSON Schema, for which alone they are read."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**handler(schema), "enum": list(profiles.all_profiles())}


ProfileName = Annotated[
    str,
    AfterValidator(profiles.known),
    _KnownProfile(),
]


class Direction(Impaired):
    """What one direction of a link does to packets."""

    def mean_bit_s(self) -> int | None:
        """Return the bits per second that a long transfer cannot exceed; None without a limit."""
        return rates.mean_bit_s(self.rate)

    def first_bit_s(self) -> int | None:
        """Return the bits per second at the start; None if unlimited or unknown."""
        return rates.first_bit_s(self.rate)

    def overhead_bytes(self) -> int:
        """Return the bytes beyond the IP packet that take time at the rate."""
        return OVERHEADS[self.counted]


class Link(Direction):
    """A link between two hosts; its impairments apply to both directions, unless overridden."""

    between: tuple[str, str]
    """The two hosts; ``up`` is from the first to the second."""
    name: LinkName = ""
    """Its name: lower-case letters, digits and hyphens. By default its two hosts, joined by a
    hyphen; each of several links between the same hosts needs its own name."""
    delay_reading: Literal["one-way", "round-trip"] = "one-way"
    """Meaning of its delays: each direction has all of a delay (one-way), or half of it
    (round-trip). Papers do not always state which they mean."""
    profile: ProfileName | None = None
    """Name of a known network, which sets what the link leaves out; docs/reference/profiles.md has
    the sources."""
    up: OneWay = OneWay.model_construct()
    """What differs from the first host to the second."""
    down: OneWay = OneWay.model_construct()
    """What differs from the second host to the first."""
    schedule: list[ScheduleEntry] = Field(default_factory=list, max_length=10_000)
    """Changes at given times."""
    events: list[Event] = Field(default_factory=list, max_length=100)
    """Events that are reported when they happen, and may change conditions."""

    @model_validator(mode="before")
    @classmethod
    def _is_named(cls, table: Any) -> Any:
        between = table.get("between") if isinstance(table, Mapping) else None
        if isinstance(between, (list, tuple)) and "name" not in table:
            return {**table, "name": "-".join(map(str, between))}
        return table

    @model_validator(mode="after")
    def _joins_two(self) -> Link:
        if self.between[0] == self.between[1]:
            msg = f"a link joins two hosts, not {self.between[0]!r} with itself"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _changes_fit(self) -> Link:
        mistakes = [*self._unchangeable(), *self._strangers(), *self._namesakes(), *self._narrow()]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    def directions(self) -> tuple[Direction, Direction]:
        """Return both directions, ``up`` first, each complete."""
        return self._direction(self.up), self._direction(self.down)

    def rtt_s(self) -> float:
        """Return the sum of both one-way delays in seconds, without transmission and queueing."""
        return sum(direction.delay for direction in self.directions())

    def unfit(self, change: Action) -> Iterator[str]:
        """Yield a sentence for each part of an action that this link cannot do."""
        ways = dict(zip(DIRECTIONS, self.directions(), strict=True))
        for way in [change.direction] if change.direction else list(ways):
            can_change = isinstance(ways[way].rate, (int, TokenBucket, Steps))
            if change.rate is not None and not can_change:
                yield (
                    f"changes the rate {way}, which must then be a constant rate, a"
                    " token bucket or steps"
                )
            if change.loss is not None and isinstance(ways[way].loss, (Listed, Replay)):
                yield f"changes the loss {way}, which is of listed packets"

    def rates(self, way: int) -> set[int]:
        """Return all rates of a direction over time in bit/s; empty if unlimited or unknown."""
        first = self.directions()[way]
        known = [first.mean_bit_s()]
        if isinstance(first.rate, Steps):
            known = [bit_s for _, bit_s in first.rate.steps]
        known += [change.rate for change in self._changes_of(way)]
        return {bit_s for bit_s in known if bit_s is not None}

    def delays(self, way: int) -> set[float]:
        """Return all one-way delays of a direction over time, in seconds."""
        later = [change.delay for change in self._changes_of(way)]
        return {self.directions()[way].delay, *(delay for delay in later if delay is not None)}

    def _direction(self, own: OneWay) -> Direction:
        names = Direction.model_fields
        given = {name: getattr(own, name) for name in names if getattr(own, name) is not None}
        complete = {name: given.get(name, getattr(self, name)) for name in names}
        if self.delay_reading == "round-trip":
            complete["delay"] /= 2
        return Direction.model_construct(**complete)

    def _unchangeable(self) -> Iterator[str]:
        """Yield the scheduled changes and events that this link cannot make."""
        for place, change in self._changes():
            yield from (f"{place} {reason}" for reason in self.unfit(change))
            if change.delay is not None and self.delay_reading == "round-trip":
                yield f"{place} changes a delay that is read as round-trip; give it one-way"
        if self.profile and self.delay_reading == "round-trip":
            yield "a profile's delays are one-way and cannot be read as round-trip"

    def _changes(self) -> Iterator[tuple[str, Action]]:
        for name, changes in (("schedule", self.schedule), ("events", self.events)):
            for index, change in enumerate(changes):
                yield f"{name}[{index}]", change

    def _changes_of(self, way: int) -> Iterator[Action]:
        meant = (None, DIRECTIONS[way])
        return (change for _, change in self._changes() if change.direction in meant)

    def _narrow(self) -> Iterator[str]:
        """Yield limits that are too small for a packet as it is counted."""
        for name, way in zip(DIRECTIONS, self.directions(), strict=True):
            largest = MTU_BYTES + way.overhead_bytes()
            limit = way.queue.limit
            if limit.unit == "bytes" and limit.amount < largest:
                yield f"the queue {name} holds no packet: one has {largest} bytes as counted"
            if isinstance(way.rate, TokenBucket) and way.rate.burst < largest:
                yield f"the burst {name} passes no packet: one has {largest} bytes as counted"

    def _strangers(self) -> Iterator[str]:
        for index, event in enumerate(self.events):
            host = event.host()
            if host is not None and host not in self.between:
                yield f"events[{index}] names {host!r}; the link joins {' and '.join(self.between)}"

    def _namesakes(self) -> Iterator[str]:
        names = [event.name for event in self.events]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"two events are named {name!r}"


HostName = Annotated[str, Field(pattern=spellings.HOST)]


class Topology(Value):
    """The description of a network: hosts and links."""

    hosts: list[HostName] = Field(min_length=2)
    """Names of the hosts: a lower-case letter, then letters and digits, at most 15."""
    links: list[Link] = Field(min_length=1, max_length=200)
    """Links between them."""
    ip_version: Literal["4", "6"] = "4"
    """IP version of all hosts: RFC 791 or RFC 8200."""

    def digest(self) -> str:
        """Return a short hash: equal topologies have equal ones."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]

    @model_validator(mode="after")
    def _links_known_hosts(self) -> Topology:
        unknown = {host for link in self.links for host in link.between} - set(self.hosts)
        if unknown:
            msg = f"a link names a host that is not in hosts: {', '.join(sorted(unknown))}"
            raise ValueError(msg)
        if len(set(self.hosts)) < len(self.hosts):
            raise ValueError("hosts lists a host more than once")
        names = [link.name for link in self.links]
        for name in sorted({name for name in names if names.count(name) > 1}):
            msg = f"two links are named {name!r}: give each a name of its own"
            raise ValueError(msg)
        return self

    def route(
        self, start: str, goal: str, forwarding: Collection[str], without: Collection[int] = ()
    ) -> Route:
        """Return the route between two hosts, through hosts in ``forwarding`` only.

        A route is a list of link indices, each with the direction of travel. Links in ``without``
        are not used.
        """
        links = [link.between for link in self.links]
        return shortest_routes(links, start, forwarding, without).get(goal, ())

    def links_of(self, host: str) -> list[int]:
        """List a host's links by their indices."""
        return [index for index, link in enumerate(self.links) if host in link.between]
