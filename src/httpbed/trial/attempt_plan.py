"""The plan of an attempt: every process, and what it may leave.

It has neither scenario nor recipe, so that the runner does not import the schema of experiments
(``docs/decisions/0034``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from httpbed.bed.network.network_processes import NetworkProcesses
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.programs.protocol import Part
from httpbed.trial.attempt_addition import AttemptAddition
from httpbed.trial.hops import HopPath, NetworkHop

Addition = TypeVar("Addition", bound=AttemptAddition)

BODIES = "/tmp/bodies"  # noqa: S108 - inside the sandbox, where /tmp is private


@dataclass(frozen=True)
class PlannedClient:
    """A client's process and when it starts."""

    part: Part
    process: ProcessSpec
    after_s: float = 0.0
    """Seconds after the measured client."""


@dataclass(frozen=True)
class Ping:
    """Measures the idle round-trip time of one path of a hop."""

    path: HopPath
    process: ProcessSpec
    most_s: float
    """Upper bound in seconds of that time."""


@dataclass(frozen=True)
class AttemptPlan:
    """Every process of an attempt."""

    network: NetworkProcesses
    hops: tuple[NetworkHop, ...]
    """Every hop; the measured client's comes first."""
    servers: Mapping[str, ProcessSpec]
    """Servers and proxies by their part's name, those farthest from the client first."""
    prior_visits: tuple[PlannedClient, ...]
    """Unmeasured visits that give clients their TLS tickets."""
    clients: tuple[PlannedClient, ...]
    """The measured client, then its competitors."""
    pings: tuple[tuple[Ping, ...], ...]
    """Groups that run one after the other; the pings of a group share no link."""
    sockets: Mapping[str, ProcessSpec]
    """Commands that read the accepted sockets of each part that sends by TCP."""
    kept: frozenset[str]
    """The kinds of :data:`~httpbed.experiment.kept.KINDS` that it keeps."""
    measures_pressure: bool
    """Whether it measures how long its tasks wait for CPUs. On a virtual clock they never do."""
    keeps_packet_log: bool
    """Whether the log of every packet stays after its reduction to tables."""
    additions: tuple[AttemptAddition, ...] = ()
    """What addons add to it."""

    def addition(self, kind: type[Addition]) -> Addition | None:
        """Return the addition of one kind, if the attempt has it."""
        return next((one for one in self.additions if isinstance(one, kind)), None)

    def bed_programs(self) -> dict[str, ProcessSpec]:
        """Return the programs of additions, by the folders they write to."""
        return {name: spec for one in self.additions for name, spec in one.programs().items()}

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return every process in starting order, without those of additions beside clients."""
        return (
            *self.network.specs(),
            *self.bed_programs().values(),
            *self.servers.values(),
            *(ping.process for group in self.pings for ping in group),
            *(spec for one in self.additions for spec in one.before_clients()),
            *(visit.process for visit in self.prior_visits),
            *self.network.counter_readings("before-start", "after-start"),
            *(client.process for client in self.clients),
            *self.sockets.values(),
            *self.network.counter_readings("before-stop", "after-stop"),
        )

    def all_clients(self) -> tuple[PlannedClient, ...]:
        """Return the prior visits and the clients."""
        return (*self.prior_visits, *self.clients)

    @property
    def longest_rtt_s(self) -> float:
        """Upper bound in seconds of the idle round-trip time of any hop."""
        return max(ping.most_s for group in self.pings for ping in group)

    def folders(self) -> list[str]:
        """Name the folders in which parts leave their files."""
        names = (client.part.name for client in self.all_clients())
        return [*self.bed_programs(), *self.servers, *names]

    def part_processes(self) -> list[tuple[str, ProcessSpec]]:
        """List the processes of parts with the folders they write to."""
        clients = [(client.part.name, client.process) for client in self.all_clients()]
        return [*self.bed_programs().items(), *self.servers.items(), *clients]
