"""How the conditions of a link change while it runs: by the clock, or by what passes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag, model_validator

from httpbed.experiment.alternatives import chosen
from httpbed.experiment.impairments.delay import Delay
from httpbed.experiment.units import BitRate, Bytes, Seconds, Share
from httpbed.experiment.value import Value

LONGEST_S = 86_400.0
ACTIONS = ("rate", "delay", "loss", "state")


class Action(Value):
    """What changes; a change that is absent leaves things as they are."""

    direction: Literal["up", "down"] | None = None
    """``up`` is from the first host to the second; by default both."""
    rate: BitRate | None = None
    """From now on, also for what is in service; only of a constant rate or a token bucket."""
    delay: Delay | None = None
    """One-way delay of packets that have still to leave the queue."""
    loss: Share | None = None
    """Probability of independent loss; it takes the place of any other loss."""
    state: Literal["up", "down"] | None = None
    """``down``: what arrives and what waits is dropped; ``up``: packets pass again."""

    @model_validator(mode="after")
    def _changes_one_thing(self) -> Action:
        said = self.said()
        if len(said) > 1:
            raise ValueError(f"changes {' and '.join(said)}; write an entry for each")
        return self

    def said(self) -> list[str]:
        """Name the conditions that change: one at most."""
        return [name for name in ACTIONS if getattr(self, name) is not None]


class ScheduleEntry(Action):
    """A change at a given time."""

    at: Annotated[Seconds, Field(le=LONGEST_S)]
    """Time since the client's start."""

    @model_validator(mode="after")
    def _changes_something(self) -> ScheduleEntry:
        if not self.said():
            raise ValueError(f"changes nothing; say one of {', '.join(ACTIONS)}")
        return self


class Delivered(Value):
    """So many bytes have been delivered to a host."""

    delivered: Bytes = Field(ge=1)
    """IP bytes since the client's start."""
    to: str
    """The host that they arrived at."""


class FirstPacket(Value):
    """The first packet with a payload arrives from a host."""

    first_packet_of: str
    """The host that sent it."""


class Handshake(Value):
    """The handshake of a connection is over, as it is seen on the wire."""

    handshake: Literal[True]
    """``true``."""


When = Annotated[
    Annotated[Delivered, Tag("<delivered>")]
    | Annotated[FirstPacket, Tag("<first packet>")]
    | Annotated[Handshake, Tag("<handshake>")],
    chosen(
        '{ delivered = "2 MB", to = "client" }',
        delivered="<delivered>",
        to="<delivered>",
        first_packet_of="<first packet>",
        handshake="<handshake>",
    ),
]


class Event(Action):
    """Something that passes, which is told, and on which conditions may change; once."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")
    """How it is called in the evidence: lower-case letters, digits and hyphens."""
    when: When
    """What has to pass."""
    after: Annotated[Seconds, Field(le=LONGEST_S)] = 0.0
    """How long after that the conditions change."""

    def host(self) -> str | None:
        """The host that ``when`` names, if it names one."""
        if isinstance(self.when, Delivered):
            return self.when.to
        return self.when.first_packet_of if isinstance(self.when, FirstPacket) else None
