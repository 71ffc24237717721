"""Plans as values: of an attempt, every process and what it may leave; of its trial and campaign.

The plan of an attempt has neither scenario nor recipe, so that the runner does not import the
schema of experiments (``docs/decisions/0034``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from httpbed.base import untrusted_files
from httpbed.bed.sandbox.sandbox_spec import LINK_FILES, NetworkProcesses, ProcessSpec
from httpbed.programs.part import Part
from httpbed.trial.hops import Chain, HopPath, NetworkHop, chains

if TYPE_CHECKING:
    import asyncio

    from httpbed.bed.machine.backend import Backend
    from httpbed.bed.network.link_file import LinkFile
    from httpbed.bed.network.network_plan import NetworkPlan
    from httpbed.bed.network.running_network import Emulator
    from httpbed.bed.sandbox.supervisor import Supervisor
    from httpbed.experiment.scenario import Scenario
    from httpbed.experiment.trial import Trial
    from httpbed.programs.catalog import Catalog
    from httpbed.store.packet_log import PacketLog
    from httpbed.trial.content import Content
    from httpbed.trial.program_roots import Programs


# The files that the bed writes into an attempt's folder. The runner writes them, and
# :mod:`httpbed.trial.evidence` reads them.

EVIDENCE = "evidence.json"
"""Exits, bodies, pressure and what else the runner observed."""
LINK_EVENTS = "link-events.jsonl"
"""The emulator's events that say what happened to a link, and when."""


def read_object(artifacts: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in a file of the bed; empty if there is no such file."""
    text = untrusted_files.own_text(artifacts / name)
    return dict(untrusted_files.large_json(text, name)) if text else {}


# What an addon adds to an attempt.
#
# A plan is made where the schema of experiments is known, and carried out where it is not, perhaps
# in a guest. So an addition is a value that can be pickled, and imports what runs it only then.


class RunningAddition:
    """An addition while its attempt runs; the runner calls each method at its time.

    A method that raises BedError makes the attempt invalid.
    """

    async def network_is_built(self, emulator: Emulator) -> None:
        """Begin what must see the network before it is used."""

    async def before_clients(self) -> None:
        """Bring about what clients find; the idle round-trip times are measured."""

    def on_trigger(self, name: str) -> None:
        """Take note of a triggered event of the emulator."""

    async def beside_clients(self, ended: asyncio.Event) -> None:
        """Work while clients do, and finish soon after they have ``ended``."""

    async def after_clients(self) -> None:
        """End it; servers have ended, unless a part could not start."""


class AttemptAddition:
    """What one addon adds to one attempt."""

    def programs(self) -> Mapping[str, ProcessSpec]:
        """Return programs of the bed that start before servers, by the folders they write to."""
        return {}

    def before_clients(self) -> tuple[ProcessSpec, ...]:
        """Return the commands of :meth:`RunningAddition.before_clients` and before."""
        return ()

    def reads_packet_log(self) -> bool:
        """Whether :meth:`reduce` needs the log of every packet."""
        return False

    def reduce(self, artifacts: Path, log: PacketLog, hop: NetworkHop) -> None:
        """Reduce the log to a file of the attempt; ``hop`` is the measured client's."""

    def running(
        self, supervisor: Supervisor, artifacts: Path
    ) -> AbstractAsyncContextManager[RunningAddition]:
        """Return the addition as it runs, for the time from before the first program starts."""
        del supervisor, artifacts
        return nullcontext(RunningAddition())

    def imported_later(self) -> tuple[str, ...]:
        """Name the modules that it imports while it runs."""
        return ()

    def described(self) -> dict[str, Any]:
        """Return what ``httpbed plan --json`` says about it, besides its processes."""
        return {}

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield what ``httpbed plan`` writes: indentation and text."""
        yield from ()


Addition = TypeVar("Addition", bound=AttemptAddition)

BODIES = "/tmp/bodies"  # noqa: S108 - inside the sandbox, where /tmp is private


@dataclass(frozen=True)
class PlannedClient:
    """A client's process and when it starts."""

    part: Part
    process: ProcessSpec
    after_s: float = 0.0
    """Seconds after the measured client."""
    receiver: str | None = None
    """The part that stores the bodies; None: the client's own."""


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
    """Commands that read the sockets of each part that sends bodies by TCP."""
    datagrams: Mapping[str, ProcessSpec]
    """Commands that read the UDP counters of each host that receives QUIC."""
    kept: frozenset[str]
    """The kinds of :data:`~httpbed.experiment.kept.KINDS` that it keeps."""
    measures_pressure: bool
    """Whether it measures how long its tasks wait for CPUs. On a virtual clock they never do."""
    keeps_packet_log: bool
    """Whether the log of every packet stays after its reduction to tables."""
    additions: tuple[AttemptAddition, ...] = ()
    """What addons add to it."""

    @property
    def reads_packet_log(self) -> bool:
        """Whether its packets are reduced to tables when it has ended."""
        asked = any(addition.reads_packet_log() for addition in self.additions)
        return asked or len(self.clients) > 1

    def addition(self, kind: type[Addition]) -> Addition | None:
        """Return the addition of one kind, if the attempt has it."""
        return next((addition for addition in self.additions if isinstance(addition, kind)), None)

    def bed_programs(self) -> dict[str, ProcessSpec]:
        """Return the programs of additions, by the folders they write to."""
        return {
            name: spec for addition in self.additions for name, spec in addition.programs().items()
        }

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return every process in starting order, without those of additions beside clients."""
        return (
            *self.network.specs(),
            *self.bed_programs().values(),
            *self.servers.values(),
            *(ping.process for group in self.pings for ping in group),
            *(spec for addition in self.additions for spec in addition.before_clients()),
            *(visit.process for visit in self.prior_visits),
            *(client.process for client in self.clients),
            *self.sockets.values(),
            *self.datagrams.values(),
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


# The plan of a trial, and what all trials of a campaign share. Their types are read where they are
# made, so that the runner does not import them.


@dataclass(frozen=True)
class PlanOptions:
    """What the plans of all trials of a campaign have in common."""

    keep: frozenset[str] = frozenset()
    """The kinds of :data:`~httpbed.experiment.kept.KINDS` that each trial keeps."""
    log: bool = False
    """Whether each trial keeps a line with the times and fate of each packet."""
    backend: Backend = "af_packet"
    """How the emulator gets packets from the kernel."""

    @property
    def keeps_log(self) -> bool:
        """Whether each trial keeps the emulator's packet log."""
        return self.log or "packets" in self.keep


@dataclass(frozen=True)
class CampaignSetup:
    """What is prepared once and shared by all trials of a campaign."""

    catalog: Catalog
    programs: Programs
    """The programs that its processes run."""
    certificates: Path
    contents: Mapping[str, Content]
    """The files to serve, by their path in a URL."""
    options: PlanOptions = PlanOptions()
    files: Mapping[str, LinkFile] = field(default_factory=dict)
    sites: Mapping[str, Any] = field(default_factory=dict)
    """The sites of its pages, by their keys."""
    kernel: Any = None
    """The kernel of guests; None where no trial is in virtual time."""

    def needed_by(self, planned: TrialPlan) -> CampaignSetup:
        """Return the setup with the programs and files of one trial only."""
        document = json.dumps(planned.trial.document)
        own = [spec.root for spec in planned.attempt.bed_programs().values() if spec.root]
        programs = self.programs.only(planned.scenario.implementations.values(), own)
        files = {digest: file for digest, file in self.files.items() if digest in document}
        return replace(self, programs=programs, files=files)

    def shared_files(self) -> dict[str, Path]:
        """Map the paths in the sandbox of the experiment's files to their paths here."""
        return {f"{LINK_FILES}/{digest}": file.path for digest, file in self.files.items()}


@dataclass(frozen=True)
class TrialPlan:
    """A trial, its validated scenario, its network and the processes of its attempt."""

    trial: Trial
    scenario: Scenario
    network: NetworkPlan
    attempt: AttemptPlan

    @property
    def hops(self) -> tuple[NetworkHop, ...]:
        """Every hop; the measured client's comes first."""
        return self.attempt.hops

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Each client with its proxies and servers; the measured client's chain is first."""
        return chains(self.scenario, self.hops)
