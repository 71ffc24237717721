"""Hand-overs: the client leaves one of its links and continues on the next.

:class:`Handover` is what an experiment asks for: the network's part only.
:class:`HandoverEvent` is what one trial did. The program's part is measured: a TCP connection ends,
because it is identified by its addresses; a QUIC connection may migrate (RFC 9000 section 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, Tag, model_validator

from httpbed.base.units import Bytes, Seconds
from httpbed.base.value import Value, form_by_key
from httpbed.experiment.topology import LATEST_CHANGE_S

HandoverKind = Literal[
    "none", "address deleted", "make before break", "route", "blackhole", "NAT rebinding"
]
SHORTEST_PERIOD_S = 0.01
MAX_LINKS = 8
_ADDRESS_GOES = frozenset({"address deleted", "make before break"})
_STAYS = frozenset({"none", "NAT rebinding"})


class AfterBytes(Value):
    """Once, when a number of bytes has been delivered to the client."""

    delivered: Bytes = Field(ge=1)
    """Bytes of IP packets on the client's current link since the client's start. They include
    headers and handshakes, so the received part of the file is some per cent smaller."""


class At(Value):
    """Once, at a time."""

    at: Annotated[Seconds, Field(gt=0, le=LATEST_CHANGE_S)]
    """Time since the client's start."""


class Every(Value):
    """Repeatedly, at equal intervals."""

    every: Annotated[Seconds, Field(ge=SHORTEST_PERIOD_S, le=LATEST_CHANGE_S)]
    """Time from the client's start to the first hand-over, and from each to the next."""


HandoverTrigger = Annotated[
    Annotated[AfterBytes, Tag("<delivered>")]
    | Annotated[At, Tag("<at>")]
    | Annotated[Every, Tag("<every>")],
    form_by_key('{ delivered = "2 MB" }', delivered="<delivered>", at="<at>", every="<every>"),
]


class Handover(Value):
    """The client's links, and when and how it switches from one to the next."""

    links: list[str] = Field(min_length=1, max_length=MAX_LINKS)
    """Names of the client's links. The client begins on the first link, switches to the next, and
    after the last link returns to the first."""
    kind: HandoverKind
    """``address deleted``: the address of the current link is deleted. ``make before break``: the
    next link gets its address and is preferred; the old address is deleted later. ``route``: the
    next link is preferred, nothing else changes. ``blackhole``: the current link drops all packets
    silently. ``NAT rebinding``: a NAT at the far end of the first link forgets its mapping, so the
    server sees another port. ``none``: no hand-over, as a control."""
    when: HandoverTrigger | None = None
    """When the hand-over happens; absent for ``none`` only."""
    gap: Annotated[Seconds, Field(le=LATEST_CHANGE_S)] | None = None
    """For ``address deleted``: time from the deletion until the next link gets its address.
    Default: the next link has its address from the beginning."""
    overlap: Annotated[Seconds, Field(le=LATEST_CHANGE_S)] | None = None
    """For ``make before break``: time during which the client has both addresses."""
    sockets: Literal["destroyed", "kept"] = "kept"
    """``destroyed``: the TCP sockets of a deleted address are closed at once, as on Android
    (SOCK_DESTROY). ``kept``: the sockets stay open, as on most other systems."""

    @model_validator(mode="after")
    def _fits(self) -> Handover:
        mistakes = [*self._links_mistakes(), *self._time_mistakes(), *self._kind_mistakes()]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    def happens(self) -> bool:
        """Whether the network changes at all."""
        return self.kind != "none"

    def durations_s(self) -> dict[tuple[str, ...], float]:
        """Return each duration in seconds, by the keys that lead to it."""
        timed = self.when if isinstance(self.when, (At, Every)) else ()
        durations = {("when", name): seconds for name, seconds in timed}
        lasting = {("gap",): self.gap, ("overlap",): self.overlap}
        return durations | {
            path: seconds for path, seconds in lasting.items() if seconds is not None
        }

    @property
    def repeats_s(self) -> float | None:
        """Seconds from each hand-over to the next; None if there is at most one."""
        return self.when.every if isinstance(self.when, Every) else None

    def from_and_to(self, number: int) -> tuple[str, str]:
        """Return the links that hand-over ``number``, from 1, leaves and enters."""
        count = len(self.links)
        return self.links[(number - 1) % count], self.links[number % count]

    def up_at_first(self) -> list[str]:
        """Return the links on which the client has an address from the beginning."""
        waits = self.gap is not None or self.overlap is not None  # the control treatment, too
        return self.links[:1] if waits else self.links

    def _links_mistakes(self) -> Iterator[str]:
        if len(set(self.links)) != len(self.links):
            yield "links names a link twice; name each link once"
        if len(self.links) < 2 and self.kind not in _STAYS:  # the next one
            yield f"{self.kind!r} needs a second link; name it in links"

    def _time_mistakes(self) -> Iterator[str]:
        if self.happens and self.when is None:
            yield 'when is missing; write it like { delivered = "2 MB" }'
        if not self.happens and self.when is not None:
            yield "kind is 'none', which has no when; delete when, or choose another kind"
        lasts_s = max(self.gap or 0.0, self.overlap or 0.0)
        if self.repeats_s is not None and lasts_s >= self.repeats_s:
            yield f"gap or overlap ({lasts_s:g} s) lasts until the next hand-over; shorten it"

    def _kind_mistakes(self) -> Iterator[str]:
        if self.gap is not None and self.kind not in {"none", "address deleted"}:
            yield f"gap belongs to 'address deleted', not to {self.kind!r}; delete it"
        if self.overlap is None and self.kind == "make before break":
            yield 'overlap is missing; set how long the client has both addresses, such as "1 s"'
        if self.overlap is not None and self.kind not in {"none", "make before break"}:
            yield f"overlap belongs to 'make before break', not to {self.kind!r}; delete it"
        if self.sockets == "destroyed" and self.kind not in _ADDRESS_GOES | {"none"}:
            yield f"{self.kind!r} deletes no address, so it destroys no socket; delete sockets"


HandoverOutcome = Literal[
    "migrated", "new connection", "answered only", "nothing", "over before", "not known"
]
"""What the packets show after a hand-over.

``migrated``: data of the same connection arrived on the new path. ``new connection``: data of
another connection did. ``answered only``: the server's packets there had no data, or were resets.
``nothing``: no packet arrived there. ``over before``: the client finished before an answer could
arrive. ``not known``: the packets do not decide it.
"""
MIGRATED: HandoverOutcome = "migrated"
NEW_CONNECTION: HandoverOutcome = "new connection"
ANSWERED: HandoverOutcome = "answered only"
NOTHING: HandoverOutcome = "nothing"
OVER_BEFORE: HandoverOutcome = "over before"
UNKNOWN: HandoverOutcome = "not known"


def _known_time(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def _known_outcome(value: Any) -> Any:
    return value if value in get_args(HandoverOutcome) else ""


def _text(value: Any) -> str:
    return str(value or "")


Time = Annotated[float | None, BeforeValidator(_known_time)]
"""Seconds since the client's first packet; None: not observed, or not a number in the file."""
Text = Annotated[str, BeforeValidator(_text)]


class HandoverEvent(Value):
    """A hand-over of one trial; times are seconds since the client's first packet.

    Values of an unexpected type are read as unknown, and unknown keys are ignored.
    """

    model_config = ConfigDict(populate_by_name=True, extra="ignore")

    number: Annotated[int, Field(strict=True)]
    """From 1."""
    left: Text = Field(default="", alias="from")
    """Name of the link that the client left."""
    entered: Text = Field(default="", alias="to")
    """Name of the link that the client switched to."""
    at_s: float
    first_sent_s: Time = None
    """The client's first packet on the new path."""
    validated_s: Time = None
    """End of QUIC's path validation (RFC 9000 section 8.2)."""
    first_byte_s: Time = None
    """The first packet delivered to the client on the new path."""
    gone_s: Time = None
    """Deletion of the left link's address; None if it was not deleted."""
    back_s: Time = None
    """Return of that address; None if it did not return."""
    verdict: Annotated[HandoverOutcome | Literal[""], BeforeValidator(_known_outcome)] = ""
    """Empty if the file has no known value."""
    how: Text = ""
    """The evidence for the verdict, in words."""

    def milestones(self) -> Iterator[tuple[str, float]]:
        """Yield name and time of each step that was observed after the hand-over."""
        for name, at_s in (
            ("first packet sent", self.first_sent_s),
            ("path validated", self.validated_s),
            ("first packet delivered", self.first_byte_s),
        ):
            if at_s is not None:
                yield name, at_s
