"""Hand-overs: the client leaves one of its links to the network and goes on by the next.

What the network does is described here, not what programs make of it: TCP loses its connections,
for an address is part of their names; QUIC may take its own along (RFC 9000 section 9). Of two
networks that a device may use, an operating system prefers one; a change is what it tells its
programs of, or, worse, does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, Tag, model_validator

from httpbed.experiment.alternatives import chosen
from httpbed.experiment.changes import LONGEST_S
from httpbed.experiment.units import Bytes, Seconds
from httpbed.experiment.value import Value

Kind = Literal[
    "none", "address deleted", "make before break", "route", "blackhole", "NAT rebinding"
]
TRIGGER = "hand-over"
"""Name of the emulator's event that a hand-over after so many bytes waits for."""
SHORTEST_PERIOD_S = 0.01
MOST_LINKS = 8
_ADDRESS_GOES = frozenset({"address deleted", "make before break"})
_STAYS = frozenset({"none", "NAT rebinding"})


class AfterBytes(Value):
    """Once, when so much has been delivered to the client."""

    delivered: Bytes = Field(ge=1)
    """IP bytes since the client's start, over the link that it is on: headers and handshakes are
    among them, so of the file some per cent less have come."""


class At(Value):
    """Once, at a time."""

    at: Annotated[Seconds, Field(gt=0, le=LONGEST_S)]
    """Time since the client's start."""


class Every(Value):
    """Again and again."""

    every: Annotated[Seconds, Field(ge=SHORTEST_PERIOD_S, le=LONGEST_S)]
    """Time from the client's start to the first, and from each to the next."""


When = Annotated[
    Annotated[AfterBytes, Tag("<delivered>")]
    | Annotated[At, Tag("<at>")]
    | Annotated[Every, Tag("<every>")],
    chosen('{ delivered = "2 MB" }', delivered="<delivered>", at="<at>", every="<every>"),
]


class Handover(Value):
    """The client's links to the network, and when and how it goes from one to the next."""

    links: list[str] = Field(min_length=1, max_length=MOST_LINKS)
    """Links of the client's, by name: it is on the first, goes to the next, and from the last to
    the first."""
    kind: Kind
    """``address deleted``: the address of the link in use is. ``make before break``: the next link
    gets its address and is preferred, and the old one is deleted later. ``route``: the next link is
    preferred, nothing else changes. ``blackhole``: the link in use drops everything, and nobody is
    told. ``NAT rebinding``: at the far end of the first link is a NAT that forgets, so that the
    client is seen with another port. ``none``: nothing happens; to compare with."""
    when: When | None = None
    """When; only ``none`` does without."""
    gap: Annotated[Seconds, Field(le=LONGEST_S)] | None = None
    """Of ``address deleted``: how long after it the next link gets its address; absent, it has it
    all along."""
    overlap: Annotated[Seconds, Field(le=LONGEST_S)] | None = None
    """Of ``make before break``: for how long the client has both addresses."""
    sockets: Literal["destroyed", "kept"] = "kept"
    """``destroyed``: the TCP sockets of a deleted address are ended at once, as Android does
    (SOCK_DESTROY); ``kept``: programs are told nothing, as on most other systems."""

    @model_validator(mode="after")
    def _fits(self) -> Handover:
        mistakes = [*self._links_mistakes(), *self._time_mistakes(), *self._kind_mistakes()]
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    @property
    def happens(self) -> bool:
        """Whether anything changes."""
        return self.kind != "none"

    def durations_s(self) -> dict[tuple[str, ...], float]:
        """Seconds that it names, by the keys that lead to each."""
        timed = self.when if isinstance(self.when, (At, Every)) else ()
        said = {("when", name): seconds for name, seconds in timed}
        lasting = {("gap",): self.gap, ("overlap",): self.overlap}
        return said | {path: seconds for path, seconds in lasting.items() if seconds is not None}

    @property
    def repeats_s(self) -> float | None:
        """Seconds from each hand-over to the next; None where there is one at most."""
        return self.when.every if isinstance(self.when, Every) else None

    def from_and_to(self, number: int) -> tuple[str, str]:
        """Names of the links that hand-over ``number``, counted from 1, leaves and goes to."""
        count = len(self.links)
        return self.links[(number - 1) % count], self.links[number % count]

    def up_at_first(self) -> list[str]:
        """Names of the links on which the client has an address from the beginning."""
        waits = self.gap is not None or self.overlap is not None  # so do those of its control
        return self.links[:1] if waits else self.links

    def _links_mistakes(self) -> Iterator[str]:
        if len(set(self.links)) != len(self.links):
            yield "links names a link twice: name each once"
        if len(self.links) < 2 and self.kind not in _STAYS:  # noqa: PLR2004 - the next one
            yield f"{self.kind!r} needs a second link to go to: name it in links"

    def _time_mistakes(self) -> Iterator[str]:
        if self.happens and self.when is None:
            yield 'when is missing: such as { delivered = "2 MB" }'
        if not self.happens and self.when is not None:
            yield "kind is 'none', so there is no when: delete it, or name another kind"
        lasts_s = max(self.gap or 0.0, self.overlap or 0.0)
        if self.repeats_s is not None and lasts_s >= self.repeats_s:
            yield f"gap or overlap ({lasts_s:g} s) lasts until the next hand-over: shorten it"

    def _kind_mistakes(self) -> Iterator[str]:
        if self.gap is not None and self.kind not in {"none", "address deleted"}:
            yield f"gap is of 'address deleted', not of {self.kind!r}: delete it"
        if self.overlap is None and self.kind == "make before break":
            yield 'overlap is missing: say for how long both addresses are there, such as "1 s"'
        if self.overlap is not None and self.kind not in {"none", "make before break"}:
            yield f"overlap is of 'make before break', not of {self.kind!r}: delete it"
        if self.sockets == "destroyed" and self.kind not in _ADDRESS_GOES | {"none"}:
            yield f"{self.kind!r} deletes no address, so its sockets are kept: say so, or nothing"
