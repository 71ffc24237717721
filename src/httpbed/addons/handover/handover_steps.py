"""The steps of a hand-over, in order, and what they need beforehand.

A step is an order to the kernel on the client's host (add or delete an address, prefer a route, end
sockets) or to the emulator (take a link down, make a NAT forget its mappings).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from httpbed.addons.handover.handover_model import (
    AfterBytes,
    At,
    Every,
    Handover,
    HandoverKind,
    handover_of,
)
from httpbed.base import units
from httpbed.bed.network.network_commands import Access
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.roles import TRIGGER
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.topology import Delivered, Event, Topology

What = Literal["attach", "detach", "prefer", "destroy", "down", "up", "rebind"]
BY_EMULATOR: Mapping[What, Mapping[str, bool]] = {
    "down": {"down": True},
    "up": {"down": False},
    "rebind": {"rebind": True},
}
"""Steps that the emulator carries out, each with the change it is ordered to make."""
DECISIVE: Mapping[HandoverKind, What] = {
    "address deleted": "detach",
    "make before break": "prefer",
    "route": "prefer",
    "blackhole": "down",
    "NAT rebinding": "rebind",
}
"""The step of each kind of hand-over that is the actual change."""
MONITOR_BYTES = 2**26
"""Upper bound of the kernel's messages, enough for some 30 000 hand-overs."""
_RETURNS_AFTER = 0.5
"""Share of the time until the next hand-over after which a link has its address again, where the
client has all addresses at once."""


HANDOVER_STEPS = "handover.jsonl"
"""An artifact with a line for each step that was carried out; times by CLOCK_MONOTONIC."""


@dataclass(frozen=True)
class Step:
    """A change of the client's network."""

    after_s: float
    """Since the hand-over is due."""
    what: What
    """``attach``, ``detach``: the link gets or loses its address. ``prefer``: of all that are
    attached it is the one to send over. ``destroy``: TCP sockets of its address are ended.
    ``down``, ``up``: it drops everything, or no longer. ``rebind``: its NAT forgets."""
    link: str
    """By name."""


@dataclass(frozen=True)
class HandoverCommands:
    """The commands by which the hand-overs of a trial are carried out."""

    handover: Handover
    access: tuple[Access, ...]
    """The client's links, in the order in which it goes from one to the next."""
    monitor: ProcessSpec
    """Logs the kernel's messages on the client's host while the client runs."""

    def without_addresses(self) -> tuple[ProcessSpec, ...]:
        """Return the commands that remove the addresses a client does not have at first."""
        at_first = self.handover.up_at_first()
        return tuple(access.detach for access in self.access if access.name not in at_first)

    def carried_out_by(self, step: Step, number: int) -> ProcessSpec | None:
        """Return the command for a step of hand-over ``number``; None: the emulator makes it."""
        if step.what in BY_EMULATOR:
            return None
        access = self._access(step)
        commands = {
            "attach": access.attach,
            "detach": access.detach,
            "prefer": access.prefer,
            "destroy": _into(access.destroy, f"sockets-destroyed-{number}.txt"),
        }
        return commands[step.what]

    def verified_by(self, step: Step, number: int) -> tuple[ProcessSpec, ...]:
        """Return the commands that read what a step has left."""
        if step.what != "destroy":
            return ()
        return (_into(self._access(step).sockets, sockets_left_file(number)),)

    def _access(self, step: Step) -> Access:
        return next(access for access in self.access if access.name == step.link)


def _into(spec: ProcessSpec, file: str) -> ProcessSpec:
    return replace(spec, stdout=file, stderr=file)


def sockets_left_file(number: int) -> str:
    """Name the file with the sockets left after their destruction."""
    return f"sockets-left-{number}.txt"


def steps(handover: Handover, number: int) -> tuple[Step, ...]:
    """Return the steps of hand-over ``number``, counted from 1, in order of time."""
    left, entered = handover.from_and_to(number)
    by_kind: dict[str, list[Step]] = {
        "none": [],
        "address deleted": [*_deletion(handover, left), *_arrival(handover, number)],
        "make before break": [
            Step(0.0, "attach", entered),
            Step(0.0, "prefer", entered),
            *_deletion(handover, left, handover.overlap or 0.0),
        ],
        "route": [Step(0.0, "prefer", entered)],
        "blackhole": [*_revival(handover, number), Step(0.0, "down", left)],
        "NAT rebinding": [Step(0.0, "rebind", handover.links[0])],
    }
    return tuple(by_kind[handover.kind])


def ordered(handover: Handover) -> tuple[Mapping[str, bool], ...]:
    """Return the changes that the first hand-over orders from the emulator."""
    return tuple(BY_EMULATOR[step.what] for step in steps(handover, 1) if step.what in BY_EMULATOR)


def after_last_s(handover: Handover, number: int) -> float | None:
    """Return the seconds from the previous hand-over, or the client's start, to this one.

    None where it waits for bytes, or never comes.
    """
    when = handover.when
    if isinstance(when, Every):
        return when.every
    return when.at if isinstance(when, At) and number == 1 else None


def awaited(handover: Handover) -> str:
    """Describe what the first hand-over waits for."""
    when = handover.when
    if isinstance(when, AfterBytes):
        return f"{units.format_size(when.delivered)} were delivered over {handover.links[0]}"
    return f"the change at {units.format_duration(after_last_s(handover, 1) or 0.0)}"


def with_trigger(scenario: Scenario, topology: Topology) -> Topology:
    """Return the topology, with the event that triggers the hand-over."""
    handover = handover_of(scenario)
    if handover is None or not isinstance(handover.when, AfterBytes):
        return topology
    links, first = list(topology.links), scenario.access_links[0]
    when = Delivered(delivered=f"{handover.when.delivered} B", to=scenario.hosts["client"])
    events = [*links[first].events, Event(name=TRIGGER, when=when)]
    links[first] = links[first].model_copy(update={"events": events})
    return topology.model_copy(update={"links": links})


def _deletion(handover: Handover, left: str, after_s: float = 0.0) -> Iterator[Step]:
    yield Step(after_s, "detach", left)
    if handover.sockets == "destroyed":
        yield Step(after_s, "destroy", left)


def _arrival(handover: Handover, number: int) -> Iterator[Step]:
    """Yield the steps that bring the client to the next link, and restore the one after it.

    The routes of a restored address are as good as at first, so each later hand-over must say which
    route is preferred.
    """
    _, entered = handover.from_and_to(number)
    if handover.gap is not None:
        yield Step(handover.gap, "attach", entered)
    elif handover.repeats_s is not None:
        yield Step(0.0, "prefer", entered)
        if number + 1 >= len(handover.links):
            _, following = handover.from_and_to(number + 1)
            yield Step(_RETURNS_AFTER * handover.repeats_s, "attach", following)


def _revival(handover: Handover, number: int) -> Iterator[Step]:
    """Yield the step that brings the next link up, if it went down before."""
    if number >= len(handover.links):
        yield Step(0.0, "up", handover.from_and_to(number)[1])
