"""Hosts, the links between them, and the impairments of each direction of a link."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from httpbed.base import spellings
from httpbed.base.value import Value
from httpbed.experiment import profiles
from httpbed.experiment.changes import Action, Event, ScheduleEntry
from httpbed.experiment.impairments import rate as rates
from httpbed.experiment.impairments.loss import Listed, Replay
from httpbed.experiment.impairments.rate import MTU_BYTES, OVERHEADS, Steps, TokenBucket
from httpbed.experiment.impairments.registry import Impaired, OneWay
from httpbed.experiment.route import Route, shortest

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

    def rate_can_change(self) -> bool:
        """Return whether a schedule or an event may change the rate."""
        return isinstance(self.rate, (int, TokenBucket, Steps))


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
        ways = dict(zip(("up", "down"), self.directions(), strict=True))
        for way in [change.direction] if change.direction else list(ways):
            if change.rate is not None and not ways[way].rate_can_change():
                yield (
                    f"changes the rate {way}, which must then be a constant rate, a"
                    " token bucket or steps"
                )
            if change.loss is not None and isinstance(ways[way].loss, (Listed, Replay)):
                yield f"changes the loss {way}, which is of listed packets"

    def rates(self, way: int) -> set[int]:
        """Return all rates of a direction over time in bit/s; empty if unlimited or unknown."""
        first = self.directions()[way].rate
        known = rates.mean_bit_s(first)
        steps = [bit_s for _, bit_s in first.steps] if isinstance(first, Steps) else [known]
        meant = (None, ("up", "down")[way])
        later = [change.rate for _, change in self._changes() if change.direction in meant]
        return {bit_s for bit_s in (*steps, *later) if bit_s is not None}

    def delays(self, way: int) -> set[float]:
        """Return all one-way delays of a direction over time, in seconds."""
        meant = (None, ("up", "down")[way])
        later = {change.delay for _, change in self._changes() if change.direction in meant}
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

    def _narrow(self) -> Iterator[str]:
        """Yield limits that are too small for a packet as it is counted."""
        for name, way in zip(("up", "down"), self.directions(), strict=True):
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
        if twice := sorted({host for host in self.hosts if self.hosts.count(host) > 1}):
            msg = f"hosts lists {', '.join(map(repr, twice))} more than once: list each host once"
            raise ValueError(msg)
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
        return shortest([link.between for link in self.links], start, goal, forwarding, without)

    def links_of(self, host: str) -> list[int]:
        """List a host's links by their indices."""
        return [index for index, link in enumerate(self.links) if host in link.between]
