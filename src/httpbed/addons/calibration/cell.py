"""A cell of the calibration: a condition of the link, the traffic, and claims about the result.

The condition is written as in an experiment file, so that the calibration includes the parser, the
plan and the emulator, and finds a mistake in any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from httpbed.experiment import profiles
from httpbed.experiment.topology import Topology

if TYPE_CHECKING:  # it imports numpy, which only judging needs
    from httpbed.addons.calibration.evidence import CellEvidence

HOSTS = ("client", "server")
UP, DOWN = 0, 1
"""Directions: from the client, and from the server."""

Value = float | int | str
Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
ABOUT_S: Mapping[Scale, int] = {"smoke": 17, "standard": 47, "full": 280}
"""Seconds of a scale, about: the sum of its cells, which a test compares."""


@dataclass(frozen=True)
class Train:
    """Packets of one size and spacing."""

    count: int
    bytes: int
    """Size of each IP packet."""
    gap_s: float = 0.0
    """Seconds from the packet before; 0 is as fast as the socket takes packets."""


@dataclass(frozen=True)
class Flow:
    """Datagrams of one direction."""

    direction: int
    trains: tuple[Train, ...]
    ports: int = 1
    """Number of ports, each with its own receive buffer."""
    segments: int = 1
    """Datagrams per call; more than 1 uses segmentation offload."""
    spin_s: float = 60e-6
    """How long the sender polls the clock before each packet's time."""

    def sizes(self) -> list[int]:
        """Bytes of every packet, in order."""
        return [train.bytes for train in self.trains for _ in range(train.count)]

    def lasts_s(self) -> float:
        """Seconds from the first to the last planned time."""
        return sum(train.count * train.gap_s for train in self.trains)


@dataclass(frozen=True)
class Stream:
    """Bytes over TCP, as many as arrive in a time."""

    direction: int
    seconds: float


@dataclass(frozen=True)
class Finding:
    """A measured figure and its expected value."""

    what: str
    unit: str
    """``bit/s``, ``s``, ``1`` (a share), ``packets`` or ``bytes``."""
    expected: float
    achieved: float | None
    """None where it could not be measured."""
    tolerance: float
    """In the same unit, in both directions."""
    reason: str
    """Why the tolerance is what it is, and how often a correct link would fail."""

    @property
    def passed(self) -> bool:
        """Whether it is within its tolerance."""
        return self.achieved is not None and abs(self.achieved - self.expected) <= self.tolerance


class Claim(Protocol):
    """A claim about the result of a cell."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the evidence with the claim."""


@dataclass(frozen=True)
class Cell:
    """A condition and all claims about it."""

    name: str
    link: Mapping[str, Any]
    """As in an experiment file, without ``between``."""
    claims: tuple[Claim, ...]
    flows: tuple[Flow, ...] = ()
    stream: Stream | None = None
    settle_s: float = 0.1
    """Seconds after the last packet was sent in which packets may still arrive."""
    covers: Mapping[str, Value] = field(default_factory=dict)
    """What a campaign may rely on if all claims hold; see ``envelope``."""

    def sizes(self) -> dict[int, list[int]]:
        """Bytes of every packet, in order, by direction."""
        return {flow.direction: flow.sizes() for flow in self.flows}

    def lasts_s(self) -> float:
        """Seconds that sending and settling take."""
        flows = max((flow.lasts_s() for flow in self.flows), default=0.0)
        return max(flows, self.stream.seconds if self.stream else 0.0) + self.settle_s

    def topology(self) -> Topology:
        """Read the condition as a network of two hosts."""
        link = profiles.expanded({"between": list(HOSTS), **self.link})
        return Topology.model_validate({"hosts": list(HOSTS), "links": [link]})


def about(scale: Scale) -> str:
    """Return how long a scale takes, in words."""
    seconds = ABOUT_S[scale]
    return f"{seconds} s" if seconds <= 120 else f"{round(seconds / 60)} min"
