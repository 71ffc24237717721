"""The bed: what every trial of a campaign stands on, and what a trial's processes are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from httpbed.experiment.page import PageLoad
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.trial import Trial
from httpbed.host.backend import Backend
from httpbed.host.sandbox.spec import TRIAL_FOLDER, PartSpec, ProcessSpec
from httpbed.network import idle_rtt
from httpbed.network import plan as network
from httpbed.network.emulator import LINK_FILES
from httpbed.network.kernel import KINDS
from httpbed.network.link_file import LinkFile
from httpbed.network.plan import NetworkPlan
from httpbed.programs.catalog import Catalog
from httpbed.programs.protocol import Implementation, Part
from httpbed.store import packet_log
from httpbed.trial import hops, parts, replay_origin
from httpbed.trial.content import Content
from httpbed.trial.handover import steps
from httpbed.trial.handover.steps import HandoverPlan
from httpbed.trial.hops import Leg, Way, ping_file, sockets_file
from httpbed.trial.program_roots import Programs
from httpbed.web.sites.catalog import CachedSite
from httpbed.web.sites.site import FILES

PINGS = 3
PING_INTERVAL_S = 0.005


@dataclass(frozen=True)
class Bed:
    """What is prepared once for all trials of a campaign."""

    catalog: Catalog
    programs: Programs
    """What its processes run."""
    certificates: Path
    contents: Mapping[str, Content]
    """The files to serve, by their path in a URL."""
    capture: bool = False
    """Whether every packet is kept as pcapng."""
    log: bool = False
    """Whether each packet's times and fate are kept, a line each."""
    backend: Backend = "af_packet"
    """How the emulator takes packets from the kernel and gives them back, or who carries them."""
    netem_seeded: bool = False
    """Whether the kernel's netem takes a seed."""
    files: Mapping[str, LinkFile] = field(default_factory=dict)
    """The files that the experiment names, by digest."""
    sites: Mapping[str, CachedSite] = field(default_factory=dict)
    """The sites of its pages, by their keys."""

    def plan(self, trial: Trial) -> TrialPlan:
        """Plan a trial on this bed."""
        return plan(
            trial,
            self.catalog,
            capture=self.capture,
            log=self.log,
            backend=self.backend,
            files=self.files,
            netem_seeded=self.netem_seeded,
        )

    def shared_files(self) -> dict[str, Path]:
        """What the sandbox shows of the files that the experiment names: seen as -> path."""
        return {f"{LINK_FILES}/{digest}": file.path for digest, file in self.files.items()}

    def shared_sites(self, scenario: Scenario) -> dict[str, Path]:
        """What the sandbox shows of a scenario's sites, likewise."""
        pages = [one for one in scenario.workloads() if isinstance(one, PageLoad)]
        return {parts.site_folder(page): self.sites[page.key].folder / FILES for page in pages}


@dataclass(frozen=True)
class Asking:
    """A client and when it begins."""

    part: Part
    process: ProcessSpec
    after_s: float = 0.0


@dataclass(frozen=True)
class Probe:
    """Measures the round-trip time of one hop's idle way."""

    way: Way
    process: ProcessSpec


@dataclass(frozen=True)
class TrialPlan:
    """Every process of a trial; pure, so that ``httpbed plan`` can print it."""

    network: NetworkPlan
    hops: tuple[Leg, ...]
    """Every hop, the client's first."""
    answering: Mapping[str, ProcessSpec]
    """Servers and proxies by their part's name, those farthest from the client first."""
    visits: tuple[Asking, ...]
    """What clients fetch before, without being measured."""
    asking: tuple[Asking, ...]
    """The client, then its competitors."""
    probes: tuple[tuple[Probe, ...], ...]
    """One group after the other; those of a group share no link."""
    sockets: Mapping[str, ProcessSpec]
    """Read the accepted sockets of each part that sends by TCP, in the kernel."""
    handover: HandoverPlan | None = None
    """How the client goes from one of its links to the next."""
    recordings: Mapping[str, ProcessSpec] = field(default_factory=dict)
    """Who answers for recorded sites, behind each server that has one."""

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Every process, in order, but for the steps of hand-overs."""
        moved = self.handover
        return (
            *self.network.specs(),
            *self.recordings.values(),
            *self.answering.values(),
            *((moved.monitor,) if moved else ()),
            *(probe.process for group in self.probes for probe in group),
            *(moved.before() if moved else ()),
            *(visit.process for visit in self.visits),
            *(one.process for one in self.asking),
            *self.sockets.values(),
        )

    def clients(self) -> tuple[Asking, ...]:
        """Return all that fetches, visits included."""
        return (*self.visits, *self.asking)

    def folders(self) -> list[str]:
        """Names of the folders in which parts leave their files."""
        names = (one.part.name for one in self.clients())
        return [*self.recordings, *self.answering, *names]

    def isolated(self) -> dict[str, PartSpec]:
        """What each part of the trial sees, but for where its program is."""
        clients = [(one.part.name, one.process) for one in self.clients()]
        found: dict[str, PartSpec] = {}
        for folder, process in (*self.recordings.items(), *self.answering.items(), *clients):
            part = process.part or folder
            seen = found.get(part, PartSpec(process.root, process.host))
            found[part] = replace(
                seen,
                folders=(*seen.folders, folder),
                files={**seen.files, **process.shown},
                memory_bytes=process.memory_bytes,
                processes=process.processes,
            )
        return found

    def most_bytes(self) -> dict[str, int]:
        """Upper bound of what each part leaves in its folder, all files together."""
        clients = {one.part.name: one.process for one in self.clients()}
        processes = {**self.recordings, **self.answering, **clients}
        return {name: one.file_bytes for name, one in processes.items() if one.file_bytes}

    @property
    def longest_rtt_s(self) -> float:
        """Seconds of an echo on the longest hop, at most, when all is idle."""
        return max(
            idle_rtt.round_trip_s(self.network, leg.asking_host, leg.answering_host, way.over)[1]
            for leg in self.hops
            for way in leg.ways
        )


def plan(  # noqa: PLR0913 - all but the first two are told by name
    trial: Trial,
    catalog: Catalog,
    *,
    capture: bool = False,
    log: bool = False,
    backend: Backend = "af_packet",
    files: Mapping[str, LinkFile] | None = None,
    netem_seeded: bool = False,
) -> TrialPlan:
    """Plan a trial; ``files`` are those that its experiment names."""
    scenario = trial.scenario()
    net = network.plan(
        steps.watched(scenario),
        scenario.senders(),
        trial.seed,
        trial.block,
        forwarding=scenario.routers,
        capture=capture,
        log=f"{TRIAL_FOLDER}/{packet_log.FILE}" if log or _is_reduced(scenario, backend) else None,
        backend=backend,
        files={digest: file.facts for digest, file in (files or {}).items()},
        netem_seeded=netem_seeded,
        client=scenario.hosts["client"],
        access=scenario.access_links,
        nat=steps.nat(scenario),
    )
    described = parts.parts(scenario, catalog, net, trial.time_limit_s)
    found = hops.legs(scenario, net)
    cast = _Cast(scenario, catalog, described)
    return TrialPlan(
        network=net,
        hops=found,
        answering=cast.answering(),
        visits=cast.visits(),
        asking=cast.asking(),
        probes=_apart([_probe(leg, way, net) for leg in found for way in leg.ways]),
        sockets={leg.hop.server: _sockets(leg) for leg in found if leg.hop.transport == "tcp"},
        handover=steps.plan(scenario, net),
        recordings=cast.recordings(),
    )


def _is_reduced(scenario: Scenario, backend: Backend) -> bool:
    """Whether a log of every packet is wanted, if only to have something taken from it.

    Where the kernel carries them nobody knows what became of each.
    """
    if backend in KINDS:
        return False
    return bool(scenario.competitors) or scenario.handover is not None


@dataclass(frozen=True)
class _Cast:
    """The parts of a scenario, and what each of them starts."""

    scenario: Scenario
    catalog: Catalog
    parts: Mapping[str, Part]

    def answering(self) -> dict[str, ProcessSpec]:
        names = [name for name, part in self.parts.items() if part.role != "client"]
        return {name: self._process(self.parts[name], name) for name in reversed(names)}

    def recordings(self) -> dict[str, ProcessSpec]:
        return {
            replay_origin.name(name): replay_origin.process(part)
            for name, part in self.parts.items()
            if part.role == "server" and part.page and part.page.recorded
        }

    def asking(self) -> tuple[Asking, ...]:
        after = [0.0, *(competitor.after for competitor in self.scenario.competitors)]
        return tuple(
            Asking(part, self._process(part, part.name), after_s)
            for part, after_s in zip(self._clients(), after, strict=True)
        )

    def visits(self) -> tuple[Asking, ...]:
        return tuple(
            Asking(visit, parts.process(visit, self._implementation(part.name), part.name))
            for part in self._clients()
            if part.resumption != "none" and not part.page
            for visit in [parts.prior_visit(part)]
        )

    def _clients(self) -> list[Part]:
        return [part for part in self.parts.values() if part.role == "client"]

    def _process(self, part: Part, name: str) -> ProcessSpec:
        return parts.process(part, self._implementation(name), name)

    def _implementation(self, name: str) -> Implementation:
        return self.catalog[self.scenario.implementations[name]]


def _probe(leg: Leg, way: Way, net: NetworkPlan) -> Probe:
    crossed = (net, leg.asking_host, leg.answering_host, way.over)
    least, most = idle_rtt.round_trip_s(*crossed)
    patience_s = 1 + 2 * idle_rtt.delays_s(*crossed) + 2 * (most - least) + most
    words = ("ping", "-n", "-c", PINGS, "-i", PING_INTERVAL_S, "-W", f"{patience_s:.3f}")
    source = ("-I", way.asking_address) if len(leg.ways) > 1 else ()
    file = ping_file(leg, way)
    spec = ProcessSpec(
        argv=(*map(str, words), *source, leg.answering_address),
        host=leg.asking_host,
        root=network.TOOLS,
        stdout=file,
        stderr=file,
        timeout_s=10 + PINGS * patience_s,
    )
    return Probe(way, spec)


def _apart(probes: Iterable[Probe]) -> tuple[tuple[Probe, ...], ...]:
    """Group probes so that none waits on a link for another's echo."""
    groups: list[list[Probe]] = []
    for probe in probes:
        links = set(probe.way.links)
        free = (group for group in groups if not any(links & set(one.way.links) for one in group))
        group = next(free, None)
        if group is None:
            groups.append([probe])
        else:
            group.append(probe)
    return tuple(map(tuple, groups))


def _sockets(leg: Leg) -> ProcessSpec:
    file = sockets_file(leg)
    return ProcessSpec(
        argv=("ss", "--tcp", "--info", "--no-header", "--numeric", "sport", "=", f":{parts.PORT}"),
        host=leg.answering_host,
        root=network.TOOLS,
        stdout=file,
        stderr=file,
    )
