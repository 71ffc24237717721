"""Changes of a running link: at given times, or at events."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag, model_validator

from httpbed.base import spellings
from httpbed.base.errors import RejectedValueError
from httpbed.base.units import BitRate, Bytes, Seconds, Share
from httpbed.base.value import Value
from httpbed.experiment.alternatives import chosen
from httpbed.experiment.impairments.delay import Delay

LONGEST_S = 86_400.0
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

    at: Annotated[Seconds, Field(le=LONGEST_S)]
    """Time since the client's start."""

    @model_validator(mode="after")
    def _changes_something(self) -> ScheduleEntry:
        if not self.changed_fields():
            raise RejectedValueError("changes nothing", f"give one of {', '.join(ACTIONS)}")
        return self


class Delivered(Value):
    """A number of bytes has been delivered to a host."""

    delivered: Bytes = Field(ge=1)
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
    chosen(
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
    after: Annotated[Seconds, Field(le=LONGEST_S)] = 0.0
    """Time from the event to the change."""

    def host(self) -> str | None:
        """Return the host that ``when`` names; None if it names none."""
        if isinstance(self.when, Delivered):
            return self.when.to
        return self.when.first_packet_of if isinstance(self.when, FirstPacket) else None
