"""Hosts, the links between them, and the impairments of each direction of a link."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from httpbed.model import units
from httpbed.model.value import Value

MTU_BYTES = 1500
"""Largest IP packet on every link; the Ethernet default, and what the studies used."""

MIN_QUEUE_PACKETS = 10
"""A queue given in BDP is never shorter: a sender's initial window is 10 packets (RFC 6928)."""

MOST_IN_QUEUE = 10**12
"""Of packets, bytes or BDP: the emulator counts in 64 bits."""


class QueueLimit(NamedTuple):
    """How much a queue holds: an amount of packets, bytes, or bandwidth-delay products."""

    amount: float
    unit: Literal["packets", "bytes", "BDP"]

    def packets_or_bytes(self, rate_bit_s: int, rtt_s: float) -> tuple[str, int]:
        """Resolve to ``("packets" | "bytes", amount)`` for a link of this rate and RTT."""
        if self.unit != "BDP":
            return self.unit, int(self.amount)
        packets = math.ceil(self.amount * rate_bit_s * rtt_s / 8 / MTU_BYTES)
        return "packets", max(MIN_QUEUE_PACKETS, packets)


def parse_queue_limit(text: object) -> QueueLimit:
    """Read ``"1000 packets"``, ``"64 KiB"`` or ``"1 BDP"``."""
    known: dict[str, int | Decimal] = {"packets": 1, "BDP": 1, **units.SIZES}
    number, unit = units.split(text, known, "1000 packets")
    amount = number * known[unit]
    if unit == "BDP":
        limit = QueueLimit(float(number), "BDP")
    else:
        limit = QueueLimit(float(amount), "packets" if unit == "packets" else "bytes")
    if limit.unit == "packets" and amount != int(amount):
        msg = f"{text!r} is not a whole number of packets"
        raise ValueError(msg)
    least = {"packets": Decimal(1), "bytes": Decimal(MTU_BYTES), "BDP": Decimal("0.001")}
    if amount < least[limit.unit]:
        msg = f"{text!r} holds no packet; the least is {least[limit.unit]} {limit.unit}"
        raise ValueError(msg)
    if amount > MOST_IN_QUEUE:
        msg = f"{text!r} is too large: more than {MOST_IN_QUEUE} {limit.unit}"
        raise ValueError(msg)
    return limit


class Queue(Value):
    """The buffer before a link's transmitter."""

    discipline: Literal["droptail"] = "droptail"
    """What is dropped when the queue is full: the arriving packet."""
    limit: Annotated[
        QueueLimit,
        BeforeValidator(parse_queue_limit),
        WithJsonSchema({"type": "string", "examples": ["1000 packets", "64 KiB", "1 BDP"]}),
    ] = QueueLimit(1000, "packets")
    """Packets waiting and in service; packets, bytes, or multiples of rate x RTT (BDP)."""


class Direction(Value):
    """What one direction of a link does to packets."""

    rate: units.BitRate | None = None
    """Capacity in bit/s, IP bytes counted; absent means unlimited."""
    delay: units.Seconds = Field(default=0.0, le=60)
    """One-way delay, added after transmission; the RTT is measured, never configured."""
    loss: units.Share = 0.0
    """Probability that a packet is lost, independently of all others."""
    queue: Queue = Queue()
    """The buffer before the transmitter; without a rate nothing waits in it."""


class OneWay(Value):
    """What differs in one direction of a link from what the link says for both."""

    rate: units.BitRate | None = None
    delay: Annotated[units.Seconds | None, Field(le=60)] = None
    loss: units.Share | None = None
    queue: Queue | None = None


class Link(Direction):
    """What joins two hosts; its impairments hold in both directions unless told otherwise."""

    between: tuple[str, str]
    """The two hosts; ``up`` is from the first to the second."""
    up: OneWay = OneWay()
    """What differs from the first host to the second."""
    down: OneWay = OneWay()
    """What differs from the second host to the first."""

    @model_validator(mode="after")
    def _joins_two(self) -> Link:
        if self.between[0] == self.between[1]:
            msg = f"a link joins two hosts, not {self.between[0]!r} with itself"
            raise ValueError(msg)
        return self

    @property
    def name(self) -> str:
        """The two hosts, joined by a hyphen."""
        return "-".join(self.between)

    def directions(self) -> tuple[Direction, Direction]:
        """Return both directions, ``up`` first, each complete."""
        return self._direction(self.up), self._direction(self.down)

    def rtt_s(self) -> float:
        """Seconds of the two one-way delays; transmission and queueing come on top."""
        return sum(direction.delay for direction in self.directions())

    def _direction(self, own: OneWay) -> Direction:
        names = Direction.model_fields
        said = {name: getattr(own, name) for name in names if getattr(own, name) is not None}
        return Direction.model_construct(
            **{name: said.get(name, getattr(self, name)) for name in names}
        )


HostName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,14}$")]


class Topology(Value):
    """The description of a network: hosts and links."""

    hosts: list[HostName] = Field(min_length=2)
    """Names of the hosts: a lower-case letter, then letters and digits, at most 15."""
    links: list[Link] = Field(min_length=1)
    """What joins them."""

    @model_validator(mode="after")
    def _links_known_hosts(self) -> Topology:
        unknown = {host for link in self.links for host in link.between} - set(self.hosts)
        if unknown:
            msg = f"a link names a host that is not in hosts: {', '.join(sorted(unknown))}"
            raise ValueError(msg)
        if len(set(self.hosts)) != len(self.hosts):
            msg = "a host is named twice"
            raise ValueError(msg)
        return self

    def link_between(self, one: str, other: str) -> Link | None:
        """Return the link that joins the two hosts directly, if there is one."""
        return next((link for link in self.links if {one, other} == set(link.between)), None)
