"""The table ``[handover]``: what an experiment asks for, the network's part only.

The program's part is measured: a TCP connection ends, because it is identified by its addresses; a
QUIC connection may migrate (RFC 9000 section 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, Tag, model_validator

from httpbed.base.units import Bytes, Seconds
from httpbed.base.value import Value, form_by_key
from httpbed.experiment.roles import TRIGGER, ClientRole, HandoverTable, Notices, transport_below
from httpbed.experiment.topology import LATEST_CHANGE_S, Topology
from httpbed.experiment.workload import Download, Workload

if TYPE_CHECKING:  # it has this model's values, and imports this module
    from httpbed.experiment.scenario import Scenario

HandoverKind = Literal[
    "none", "address deleted", "make before break", "route", "blackhole", "NAT rebinding"
]
SHORTEST_PERIOD_S = 0.01
_ADDRESS_GOES = frozenset({"address deleted", "make before break"})
_STAYS = frozenset({"none", "NAT rebinding"})


class AfterBytes(Value):
    """Once, when a number of bytes has been delivered to the client."""

    delivered: Annotated[Bytes, Field(ge=1)]
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


class Handover(HandoverTable):
    """The client's links, and when and how it switches from one to the next."""

    model_config = ConfigDict(extra="forbid")
    is_carried_out: ClassVar[bool] = True

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

    def mistakes(
        self, topology: Topology, hosts: Mapping[str, str], workload: Workload
    ) -> Iterator[str]:
        """Yield why this hand-over does not fit the scenario, or never starts in it."""
        first = next(link for link in topology.links if link.name == self.links[0])
        if self.kind == "NAT rebinding" and first.between[0] != hosts["client"]:
            yield (
                f"the NAT of {first.name} is at its second host; make the client the first host in"
                " its between"
            )
        for link in topology.links:
            if any(event.name == TRIGGER for event in link.events):
                yield (
                    f"an event of {link.name} is named {TRIGGER!r}, which the hand-over"
                    " uses; choose another name"
                )
        size = workload.body_bytes()
        if not isinstance(workload, Download):
            yield 'a hand-over needs a download; delete handover, or use kind = "download"'
        elif isinstance(self.when, AfterBytes) and self.when.delivered > size:
            yield (
                f"handover.when waits for {self.when.delivered} bytes, but the workload has only"
                f" {size}; lower when.delivered, or fetch more"
            )

    def added_s(
        self, transfer_s: float, body_bytes: int, client: ClientRole, notices: Notices
    ) -> float:
        """Return the seconds that it adds to a transfer of so many.

        A client that restarts when its address goes fetches again what it had by then. A client
        whose sockets get no error waits for its own timeout or the trial's limit.
        """
        if self.kind in {"none", "route"}:
            return 0.0
        had_s = self._first_s(transfer_s, body_bytes)
        if had_s >= transfer_s:
            return 0.0
        if self.kind == "blackhole":
            return 0.0 if self.repeats_s else math.inf
        transport = transport_below(client.http_version)
        forgets = self.kind == "NAT rebinding"
        if forgets and transport == "quic":
            return 0.0
        is_notified = forgets or (transport == "tcp" and self.sockets == "destroyed")
        waits_s = 0.0 if is_notified else notices(client, transport)
        if client.retry != "restart":
            return waits_s
        return waits_s + (math.inf if self.repeats_s else had_s)

    def _first_s(self, transfer_s: float, whole_bytes: int) -> float:
        """Return the seconds of the transfer until the first hand-over."""
        if isinstance(self.when, AfterBytes):
            return transfer_s * self.when.delivered / whole_bytes
        return self.when.at if isinstance(self.when, At) else self.repeats_s or 0.0


def handover_of(scenario: Scenario) -> Handover | None:
    """Return a scenario's hand-over; None without one."""
    return scenario.handover if isinstance(scenario.handover, Handover) else None
