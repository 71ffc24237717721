"""The bed: what every trial of a campaign stands on, and what a trial's processes are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from httpbed.host.backend import Backend
from httpbed.implementations.catalog import Catalog
from httpbed.implementations.protocol import Fetch, Part
from httpbed.model.roles import Role
from httpbed.model.scenario import Scenario
from httpbed.model.trial import Trial
from httpbed.network import idle
from httpbed.network import plan as network
from httpbed.network.emulator import LINK_FILES
from httpbed.network.link_file import LinkFile
from httpbed.network.plan import NetworkPlan
from httpbed.process.spec import ProcessSpec
from httpbed.trial.certificates import SERVER_NAME
from httpbed.trial.content import Content, target
from httpbed.trial.programs import Programs

PORT = 443
BODY = "/tmp/body"  # noqa: S108 - inside the sandbox, where /tmp is private
CERTIFICATES = "/certificates"
CONTENT = "/content"
PINGS = 3
PING_INTERVAL_S = 0.005
LOG_BYTES = 2**30
"""Upper bound of any file a program under test writes, besides the body."""


@dataclass(frozen=True)
class Bed:
    """What is prepared once for all trials of a campaign."""

    catalog: Catalog
    programs: Programs
    """What its processes run."""
    certificates: Path
    contents: Mapping[int, Content]
    """The file to serve, by size."""
    capture: bool = False
    """Whether every packet is kept as pcapng."""
    backend: Backend = "af_packet"
    """How the emulator takes packets from the kernel and gives them back, or who carries them."""
    netem_seeded: bool = False
    """Whether the kernel's netem takes a seed."""
    files: Mapping[str, LinkFile] = field(default_factory=dict)
    """The files that the experiment names, by digest."""

    def plan(self, trial: Trial) -> TrialPlan:
        """Plan a trial on this bed."""
        return plan(
            trial,
            self.catalog,
            capture=self.capture,
            backend=self.backend,
            files=self.files,
            netem_seeded=self.netem_seeded,
        )

    def shared_files(self) -> dict[str, Path]:
        """What the sandbox shows of the files that the experiment names: seen as -> path."""
        return {f"{LINK_FILES}/{digest}": file.path for digest, file in self.files.items()}


@dataclass(frozen=True)
class TrialPlan:
    """Every process of a trial; pure, so that ``httpbed plan`` can print it."""

    network: NetworkPlan
    server_part: Part
    client_part: Part
    server: ProcessSpec
    client: ProcessSpec
    probe: ProcessSpec
    """Measures the round-trip time of the idle link."""
    sockets: ProcessSpec
    """Reads the server's accepted sockets in the kernel."""

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Every process, in order."""
        return (*self.network.specs(), self.server, self.probe, self.client, self.sockets)


def plan(  # noqa: PLR0913 - all but the first two are told by name
    trial: Trial,
    catalog: Catalog,
    *,
    capture: bool = False,
    backend: Backend = "af_packet",
    files: Mapping[str, LinkFile] | None = None,
    netem_seeded: bool = False,
) -> TrialPlan:
    """Plan a trial; ``files`` are those that its experiment names."""
    scenario = trial.scenario()
    net = network.plan(
        scenario.topology,
        scenario.senders(),
        trial.seed,
        trial.block,
        capture=capture,
        backend=backend,
        files={digest: file.facts for digest, file in (files or {}).items()},
        netem_seeded=netem_seeded,
    )
    server = _part("server", scenario.roles.server, scenario, catalog, net, trial.time_limit_s)
    client = _part("client", scenario.roles.client, scenario, catalog, net, trial.time_limit_s)
    return TrialPlan(
        network=net,
        server_part=server,
        client_part=client,
        server=catalog[scenario.roles.server.implementation].plan(server),
        client=catalog[scenario.roles.client.implementation].plan(client),
        probe=_probe(scenario, net),
        sockets=_sockets(scenario.hosts["server"]),
    )


def _part(  # noqa: PLR0913, PLR0917
    name: Literal["server", "client"],
    role: Role,
    scenario: Scenario,
    catalog: Catalog,
    net: NetworkPlan,
    time_limit_s: float,
) -> Part:
    recipe = catalog[role.implementation]
    quic = recipe.congestion_control.quic
    return Part(
        name=name,
        role=name,
        host=scenario.hosts[name],
        http_version=scenario.roles.client.http_version,
        server_name=SERVER_NAME,
        server_address=net.end_of(scenario.hosts["server"]).address,
        port=PORT,
        fetches=(Fetch(target(scenario.workload.size), BODY),),
        certificates=CERTIFICATES,
        content=CONTENT,
        time_limit_s=time_limit_s,
        file_bytes=LOG_BYTES + scenario.workload.size,
        congestion_control=quic.resolved(role.congestion_control) if quic else "",
        knobs=role.knobs,
    )


def _probe(scenario: Scenario, net: NetworkPlan) -> ProcessSpec:
    least, most = expected_rtt_s(scenario, net)
    patience_s = 1 + 2 * scenario.link.rtt_s() + 2 * (most - least) + most
    server = net.end_of(scenario.hosts["server"])
    words = ("ping", "-n", "-c", PINGS, "-i", PING_INTERVAL_S, "-W", f"{patience_s:.3f}")
    return ProcessSpec(
        argv=(*map(str, words), server.address),
        host=scenario.hosts["client"],
        root=network.TOOLS,
        stdout="ping.txt",
        stderr="ping.txt",
        timeout_s=10 + PINGS * patience_s,
    )


def expected_rtt_s(scenario: Scenario, net: NetworkPlan) -> tuple[float, float]:
    """Seconds that ping must see on the idle network, at least and at most."""
    hosts = scenario.roles.hosts()
    return idle.round_trip_s(net, hosts["client"], hosts["server"])


def _sockets(server_host: str) -> ProcessSpec:
    return ProcessSpec(
        argv=("ss", "--tcp", "--info", "--no-header", "--numeric", "sport", "=", f":{PORT}"),
        host=server_host,
        root=network.TOOLS,
        stdout="sockets.txt",
        stderr="sockets.txt",
    )
