"""The plan of a trial: network, parts with their processes, sandbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from httpbed.bed.network import network_plan
from httpbed.bed.network.emulator import SPIN_US, PacketRecords
from httpbed.bed.network.link_file import LinkFile
from httpbed.bed.network.network_commands import NO_NEIGHBOUR_DISCOVERY
from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import (
    LINK,
    TOOLS,
    TRIAL_FOLDER,
    PartSpec,
    ProcessSpec,
    SandboxSpec,
    executable,
)
from httpbed.experiment import bodies_path
from httpbed.experiment.kept import PACKET_LOG
from httpbed.experiment.roles import ClientRole, Hop, Role
from httpbed.experiment.scenario import ClientGroup, Scenario
from httpbed.experiment.trial import Trial
from httpbed.experiment.workload import Download, FileTransfer, Upload, Workload
from httpbed.programs.catalog import Catalog
from httpbed.programs.part import AUTHORITY, KEY_PIN, FileToFetch, Part, RoleName, Upstream
from httpbed.programs.recipe import Recipe
from httpbed.trial import addition, hops
from httpbed.trial.addition import TRIAL_ADDITIONS, PlannedParts
from httpbed.trial.attempt_plan import (
    BODIES,
    AttemptPlan,
    CampaignSetup,
    Ping,
    PlannedClient,
    PlanOptions,
    TrialPlan,
)
from httpbed.trial.content import PRIOR, ContentFile, targets
from httpbed.trial.hops import (
    UDP_COUNTERS,
    HopPath,
    NetworkHop,
    datagrams_file,
    ping_file,
    sockets_file,
)
from httpbed.trial.tls_certificates import SERVER_NAME

PINGS = 3
PING_INTERVAL_S = 0.005
PORT = 443
SESSIONS = "/tmp/sessions"  # noqa: S108 - inside the sandbox, where /tmp is private
CERTIFICATES = "/certificates"
CONTENT = "/content"
QLOG_SHARE = 2
"""Upper bound of a qlog's length as a multiple of the bodies'; programs write up to 1.2 of it."""
LOG_BYTES = 2**26
"""Upper bound of any file that a program under test writes, and of all in its folder without the
bodies."""

LOCAL_NAMES = "127.0.0.1 localhost\n::1 localhost\n"
NAME_SOURCES = "passwd: files\ngroup: files\nhosts: files\n"
"""Without it the C library may query a DNS server, which does not exist."""


def plan(
    trial: Trial,
    catalog: Catalog,
    options: PlanOptions | None = None,
    files: Mapping[str, LinkFile] | None = None,
) -> TrialPlan:
    """Validate a trial's scenario and plan its attempt; ``files`` are keyed by digest."""
    scenario, options = trial.scenario(), options or PlanOptions()
    net = _network(trial, scenario, options, files or {})
    located = hops.locate(scenario, net)
    described = plan_parts(scenario, catalog, net, trial.time_limit_s, options.keep)
    processes = _Processes(trial, scenario, catalog, described)
    clients = processes.clients()
    attempt = AttemptPlan(
        network=net.processes,
        hops=located,
        servers=processes.servers(),
        prior_visits=processes.prior_visits(),
        clients=clients,
        pings=_apart([_ping(hop, path, net) for hop in located for path in hop.paths]),
        sockets=_sockets(located, scenario),
        datagrams={host: _datagrams(host) for host in hops.quic_hosts(located)},
        kept=options.keep,
        measures_pressure=trial.clock == "real",
        keeps_packet_log=options.keeps_log,
        additions=tuple(addition.planned(PlannedParts(scenario, net, described, clients))),
    )
    return TrialPlan(trial, scenario, net, attempt)


def by_setup(trial: Trial, setup: CampaignSetup) -> TrialPlan:
    """Plan a trial with what its campaign has prepared."""
    return plan(trial, setup.catalog, setup.options, setup.files)


def _network(
    trial: Trial, scenario: Scenario, options: PlanOptions, files: Mapping[str, LinkFile]
) -> NetworkPlan:
    topology, additions = scenario.topology, TRIAL_ADDITIONS.provided(scenario.words)
    for added in additions:
        topology = added.topology(scenario, topology)
    return network_plan.plan(
        topology,
        scenario.senders(),
        trial.seed,
        trial.block,
        records=_records(scenario, options),
        backend=options.backend,
        files={digest: file.facts for digest, file in files.items()},
        # While the emulator polls, a virtual clock stands still.
        spin_us=SPIN_US if trial.clock == "real" else 0,
        locked=True,
        buffers=scenario.tcp_buffers(),
        initial_windows=scenario.initial_windows(),
        forwarding=scenario.routers,
        client=scenario.hosts["client"],
        access=scenario.access_links,
        nat={link for added in additions for link in added.nat(scenario)},
    )


def _records(scenario: Scenario, options: PlanOptions) -> PacketRecords:
    # A log of every packet is reduced to a table afterwards.
    is_reduced = bool(scenario.competitors) or scenario.handover is not None
    needs_log = options.keeps_log or is_reduced
    return PacketRecords(
        capture=not options.keep.isdisjoint({"pcap", "packets"}),
        log=f"{TRIAL_FOLDER}/{PACKET_LOG}" if needs_log else None,
        timelines=bodies_path.vantage_points(scenario).records(),
    )


@dataclass(frozen=True)
class _Processes:
    """The parts of a scenario and the process of each."""

    trial: Trial
    scenario: Scenario
    catalog: Catalog
    parts: Mapping[str, Part]

    def servers(self) -> dict[str, ProcessSpec]:
        names = [name for name, part in self.parts.items() if part.role != "client"]
        return {name: self._process(self.parts[name]) for name in reversed(names)}

    def clients(self) -> tuple[PlannedClient, ...]:
        return tuple(
            PlannedClient(part, self._process(part), group.after_s, _receiver(group))
            for part, group in zip(self._clients(), self.scenario.client_groups, strict=True)
        )

    def prior_visits(self) -> tuple[PlannedClient, ...]:
        return tuple(
            PlannedClient(visit, self._process(visit, part.name))
            for part in self._clients()
            if part.resumption != "none" and not part.page
            for visit in [prior_visit(part)]
        )

    def _clients(self) -> list[Part]:
        return [part for part in self.parts.values() if part.role == "client"]

    def _process(self, part: Part, owner: str | None = None) -> ProcessSpec:
        """Plan the process of a part, or one that belongs to the part ``owner``."""
        owner = owner or part.name
        implementation = self.catalog[self.scenario.implementations[owner]]
        spec = part_process(part, implementation, owner)
        for one in TRIAL_ADDITIONS.provided(self.scenario.words):
            spec = one.process(self.trial, spec)
        return spec


def _receiver(group: ClientGroup) -> str | None:
    """Name the server that stores what a client uploads; None for a client that fetches."""
    last = group.hops()[-1]
    return last.server if group.sender(last) == last.client else None


def _ping(hop: NetworkHop, path: HopPath, net: NetworkPlan) -> Ping:
    route = (net, hop.client_host, hop.server_host, path.over)
    least, most = network_plan.idle_round_trip_s(*route)
    timeout_s = 1 + 2 * network_plan.delays_s(*route) + 2 * (most - least) + most
    options = ("ping", "-n", "-c", PINGS, "-i", PING_INTERVAL_S, "-W", f"{timeout_s:.3f}")
    source = ("-I", path.client_address) if len(hop.paths) > 1 else ()
    file = ping_file(hop, path)
    spec = ProcessSpec(
        argv=(*map(str, options), *source, hop.server_address),
        host=hop.client_host,
        root=TOOLS,
        stdout=file,
        stderr=file,
        timeout_s=10 + PINGS * timeout_s,
    )
    return Ping(path, spec, most)


def _apart(pings: Iterable[Ping]) -> tuple[tuple[Ping, ...], ...]:
    """Group pings so that none queues behind another's echo on a link."""
    groups: list[list[Ping]] = []
    for ping in pings:
        links = set(ping.path.links)
        free = (group for group in groups if not any(links & set(one.path.links) for one in group))
        group = next(free, None)
        if group is None:
            groups.append([ping])
        else:
            group.append(ping)
    return tuple(map(tuple, groups))


def _sockets(located: Sequence[NetworkHop], scenario: Scenario) -> dict[str, ProcessSpec]:
    """Plan to read the TCP sockets of senders, and of receivers for which something is stated.

    Of a proxy, those of its clients are read.
    """
    stated = {part for part, role, _ in scenario.parts() if role.states_tcp}
    by_tcp = [hop for hop in located if hop.transport == "tcp"]
    ends = [(hop, part) for hop in by_tcp for part in (hop.server, hop.client)]
    read = [(hop, part) for hop, part in ends if part == hop.sender or part in stated]
    return {part: _socket_reader(hop, part) for hop, part in reversed(read)}


def _socket_reader(hop: NetworkHop, part: str) -> ProcessSpec:
    file, is_client = sockets_file(part), part == hop.client
    end = "dport" if is_client else "sport"
    options = ("--tcp", "--info", "--memory", "--no-header", "--numeric")
    return ProcessSpec(
        argv=("ss", *options, end, "=", f":{PORT}"),
        host=hop.client_host if is_client else hop.server_host,
        root=TOOLS,
        stdout=file,
        stderr=file,
    )


def _datagrams(host: str) -> ProcessSpec:
    counters = (f"{protocol}{name}" for protocol in ("Udp", "Udp6") for name in UDP_COUNTERS)
    options = ("--ignore", "--noupdate", "--zeros", "--json")
    file = datagrams_file(host)
    return ProcessSpec(argv=("nstat", *options, *counters), host=host, root=TOOLS, stdout=file)


# The task of each part of a trial: addresses, files and folders.
#
# Every client asks for the same name, and one certificate for it is valid on every hop. The name's
# address depends on the client: a program that takes no address finds it in its own ``/etc/hosts``.


def plan_parts(
    scenario: Scenario,
    catalog: Catalog,
    net: NetworkPlan,
    time_limit_s: float,
    kept: frozenset[str] = frozenset(),
) -> dict[str, Part]:
    """Describe every part of a scenario by its name, in the order of :meth:`Scenario.parts`.

    ``kept`` are the kinds of :data:`~httpbed.experiment.kept.KINDS` that the trial keeps.
    """
    described: dict[str, Part] = {}
    for group in scenario.client_groups:
        described |= _GroupParts(group, scenario, catalog, net, time_limit_s, kept).parts()
    return described


def prior_visit_name(client: str) -> str:
    """Name the prior visit of a client."""
    return f"{client}-prior"


def prior_visit(client: Part) -> Part:
    """Describe the prior visit, in which a client gets its ticket and nothing is measured."""
    name = prior_visit_name(client.name)
    fetch = FileToFetch(PRIOR.path, f"{BODIES}/{name}{PRIOR.path}")
    return replace(
        client,
        name=name,
        fetches=(fetch,),
        connections=1,
        rounds=1,
        interval_s=0.0,
        wave=1,
        visit="prior",
    )


def part_process(part: Part, recipe: Recipe, owner: str) -> ProcessSpec:
    """Plan a process of the part ``owner``, with the names of the servers it asks."""
    spec = replace(recipe.plan(part), part=owner)
    if part.role == "server":
        return spec
    addresses = [upstream.address for upstream in part.upstreams] or [part.server_address]
    names = "".join(f"{address} {part.server_name}\n" for address in addresses)
    shown = {"/etc/hosts": LOCAL_NAMES + names, "/etc/nsswitch.conf": NAME_SOURCES}
    return replace(spec, shown=shown)


@dataclass(frozen=True)
class _GroupParts:
    """Describes the parts of a client, its proxies and servers."""

    group: ClientGroup
    scenario: Scenario
    catalog: Catalog
    net: NetworkPlan
    time_limit_s: float
    kept: frozenset[str] = frozenset()

    def parts(self) -> dict[str, Part]:
        return {name: self._part(name, role) for name, role, _ in self.group.parts()}

    def _part(self, name: str, role: Role) -> Part:
        """Describe a part by the hop whose server it is and those whose client it is."""
        served = next((hop for hop in self._hops if hop.server == name), None)
        requested = [hop for hop in self._hops if hop.client == name]
        first = served or requested[0]
        kind: RoleName = "client" if served is None else "proxy" if requested else "server"
        quic = self.catalog[role.implementation].congestion_control.quic
        transfer = self._workload if isinstance(self._workload, FileTransfer) else None
        arrivals = transfer if isinstance(transfer, Download) else None
        part = Part(
            name=name,
            role=kind,
            host=self._hosts[name],
            http_version=first.http_version,
            server_name=SERVER_NAME,
            server_address=self._address(requested[0] if requested else first),
            port=PORT,
            fetches=tuple(map(self._fetch, targets(self._workload))),
            certificates=CERTIFICATES,
            content=CONTENT,
            time_limit_s=self.time_limit_s,
            file_bytes=self._most_bytes(),
            ip_version=self.scenario.topology.ip_version,
            upstream_http_version=requested[0].http_version if kind == "proxy" else "",
            upstreams=self._upstreams(requested) if kind == "proxy" else (),
            connections=transfer.connections if transfer else 1,
            rounds=transfer.transfers_of_each if transfer else 1,
            interval_s=arrivals.interval or 0.0 if arrivals else 0.0,
            wave=arrivals.wave if arrivals else 1,
            resumption=self._workload.resumes if first.client == self._client else "none",
            retry=role.retry if isinstance(role, ClientRole) else "none",
            session=f"{SESSIONS}/{self._client}/session",
            congestion_control=quic.resolved(role.congestion_control) if quic else "",
            knobs=role.knobs,
            kept=self.kept,
            sender=self._workload.sender,
            method=transfer.method if isinstance(transfer, Upload) else "GET",
        )
        for added in TRIAL_ADDITIONS.provided(self.scenario.words):
            part = added.part(part, self._workload)
        return part

    def _most_bytes(self) -> int:
        """Return the upper bound of a file of a part; its qlog grows with what it sends."""
        bodies = self._workload.body_bytes()
        return LOG_BYTES + bodies + (QLOG_SHARE * bodies if "qlog" in self.kept else 0)

    def _upstreams(self, hops: Sequence[Hop]) -> tuple[Upstream, ...]:
        return tuple(Upstream(self._address(hop), PORT) for hop in hops)

    @property
    def _workload(self) -> Workload:
        return self.group.workload

    @property
    def _hosts(self) -> Mapping[str, str]:
        return self.scenario.hosts

    @property
    def _hops(self) -> list[Hop]:
        return self.group.hops()

    @property
    def _client(self) -> str:
        return f"{self.group.prefix}client"

    def _address(self, hop: Hop) -> str:
        return self.net.address(self._hosts[hop.server], self._hosts[hop.client])

    def _fetch(self, target: ContentFile) -> FileToFetch:
        return FileToFetch(target.path, f"{BODIES}/{self._client}{target.path}")


# The sandbox of an attempt: what each part sees and may use.


PUBLIC = (AUTHORITY, KEY_PIN)
"""What a client sees of the certificates."""
SANDBOX_BYTES = 512 * 2**20
"""Size of a sandbox's tmpfs, without the bodies that programs store."""


def sandbox_spec(setup: CampaignSetup, planned: TrialPlan, artifacts: Path) -> SandboxSpec:
    """Return the sandbox of an attempt that leaves its evidence in the folder ``artifacts``."""
    scenario, attempt = planned.scenario, planned.attempt
    clients = attempt.all_clients()
    served = {
        **_contents((client.part for client in clients if client.part.sender == "server"), setup),
        **{
            path: here
            for addition in TRIAL_ADDITIONS.provided(scenario.words)
            for path, here in addition.served(setup, scenario).items()
        },
    }
    added = {
        path: here
        for addition in TRIAL_ADDITIONS.provided(scenario.words)
        for path, here in addition.shared(setup, planned).items()
    }
    bodies = [workload.body_bytes() for workload in scenario.workloads()]
    proxies = len(scenario.roles.proxies)
    return SandboxSpec(
        scratch=artifacts.parent / "sandbox",
        trial=artifacts,
        parts={
            name: setup.programs.part(replace(spec, shared=_shown(name, attempt, setup, served)))
            for name, spec in _isolated(attempt).items()
        },
        roots=setup.programs.roots(),
        shared={**setup.shared_files(), **added},
        programs={LINK: executable(LINK)},
        hosts=planned.network.sysctls,
        sysctls=NO_NEIGHBOUR_DISCOVERY,
        # A proxy may store what it forwards.
        tmpfs_bytes=SANDBOX_BYTES + (2 + proxies) * sum(bodies),
    )


def _isolated(attempt: AttemptPlan) -> dict[str, PartSpec]:
    """Return what each part sees and may use, without its program and the files of all."""
    specs: dict[str, PartSpec] = {}
    for folder, process in attempt.part_processes():
        name = process.part or folder
        spec = specs.get(name, PartSpec(process.root, process.host))
        specs[name] = replace(
            spec,
            folders={**spec.folders, folder: process.file_bytes or LOG_BYTES},
            files={**spec.files, **process.shown},
            memory_bytes=process.memory_bytes,
            processes=process.processes,
        )
    return specs


def _contents(clients: Iterable[Part], setup: CampaignSetup) -> dict[str, Path]:
    """Map the paths in a part of the files that clients fetch, or upload, to their paths here."""
    paths = {fetch.path for part in clients for fetch in part.fetches}
    return {
        f"{CONTENT}{path}": content.path
        for path, content in setup.contents.items()
        if path in paths
    }


def _shown(
    part: str, attempt: AttemptPlan, setup: CampaignSetup, served: Mapping[str, Path]
) -> dict[str, Path]:
    """Return the files a part sees: content for its sender, keys for no client.

    The server of an upload cannot have the content from anywhere but its client.
    """
    if part not in attempt.servers and part not in attempt.bed_programs():
        known = {f"{CERTIFICATES}/{name}": setup.certificates / name for name in PUBLIC}
        clients = [client.part for client in attempt.clients if client.part.name == part]
        return known | _contents((client for client in clients if client.sender == "client"), setup)
    proxies = {hop.client for hop in attempt.hops}
    own = {CERTIFICATES: setup.certificates}
    return own if part in proxies else {**own, **served}
