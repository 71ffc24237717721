"""The task of each part of a trial: addresses, files and folders.

Every client asks for the same name, and one certificate for it is valid on every hop. The name's
address depends on the client: a program that takes no address finds it in its own ``/etc/hosts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from httpbed.bed.network.network_plan import NetworkPlan
from httpbed.bed.sandbox.sandbox_spec import ProcessSpec
from httpbed.experiment.roles import ClientRole, Hop, Role
from httpbed.experiment.scenario import ClientGroup, Scenario
from httpbed.experiment.workload import Download, FileTransfer, Upload, Workload
from httpbed.programs.catalog import Catalog
from httpbed.programs.protocol import (
    FileToFetch,
    Implementation,
    Part,
    RoleName,
    Upstream,
)
from httpbed.trial.addition import TRIAL_ADDITIONS
from httpbed.trial.attempt_plan import BODIES
from httpbed.trial.content import PRIOR, ContentFile, targets
from httpbed.trial.tls_certificates import SERVER_NAME

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


def parts(
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


def process(part: Part, implementation: Implementation, owner: str) -> ProcessSpec:
    """Plan a process of the part ``owner``, with the names of the servers it asks."""
    spec = replace(implementation.plan(part), part=owner)
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
        for addition in TRIAL_ADDITIONS.provided(self.scenario.words):
            part = addition.part(part, self._workload)
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
