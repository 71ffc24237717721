"""Checks which program takes which role, against the recipes, before a scenario is complete.

The checks read a treatment's document, not its models. A field that the models reject is skipped
here: it is reported elsewhere, and it must not hide other mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from httpbed.experiment.document import Document, KeyPath, table
from httpbed.experiment.roles import FIXED, OF_TCP, HttpVersion, Transport, transport_below
from httpbed.experiment.stated_tables import TableProblem
from httpbed.experiment.workload import UPLOADS_BY, Capability
from httpbed.experiment.workload_kinds import parse as workload_of
from httpbed.programs.catalog import Catalog, unknown
from httpbed.programs.part import RoleName
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import RetryKind

_VERSIONS = get_args(HttpVersion)
RECORDED: Capability = "recorded page"
OF_ORIGINS: frozenset[Capability] = frozenset({"page", "page: repeat view"})
"""Needs of the server even behind proxies: it has the page, and says what may be cached."""
OF_SERVERS = frozenset(
    {
        "resumed",
        "early data",
        *UPLOADS_BY.values(),
        "page",
        RECORDED,
        "page: repeat view",
        "page: resumed",
        "page: early data",
        "page: discovery",
    }
)
"""Needs of the server or the first proxy; all other needs concern the client."""
UNRECORDED = ("page: discovery", "page: repeat view")
"""Visits that need response headers which a HAR file may lack."""
_REQUESTED_BY: Mapping[Capability, tuple[str, ...]] = {
    "parallel": ("files",),
    "parallel uploads": ("files",),
    "upload by POST": ("method",),
    "connections": ("connections",),
    "rounds": ("rounds",),
    "intervals": ("interval",),
    "resumed": ("resumption",),
    "early data": ("resumption",),
}
"""Keys of the workload that request a capability; the others follow from several keys."""
_MULTIPLEXED = frozenset({"2", "3"})
"""HTTP versions in which no client opens several connections to one server."""


@dataclass(frozen=True)
class _RoleAssignment:
    """One role of a scenario's document."""

    path: KeyPath
    role: RoleName
    document: Document
    http_version: str | None
    """HTTP version that a client requests, or that a server or proxy is requested in."""
    upstream_http_version: str | None = None
    """HTTP version of a proxy's requests to the next hop."""
    needs: tuple[Capability, ...] = ()
    """What the workload needs of the program."""
    next_proxy: str = ""
    """Recipe of the next proxy towards the server; empty if the server is next."""
    previous_proxy: str = ""
    """Recipe of the proxy that sends the requests; empty if the client does."""
    retry: object = None
    """What the client does when a download fails."""

    @property
    def transport(self) -> Transport:
        return transport_below(self.http_version)

    @property
    def uploads(self) -> bool:
        return not set(UPLOADS_BY.values()).isdisjoint(self.needs)


def role_mistakes(catalog: Catalog, scenario: Document) -> Iterator[TableProblem]:
    """Yield each mistake in the roles of a scenario's document."""
    for assigned in _assignments(scenario):
        name = assigned.document.get("implementation")
        if not isinstance(name, str):
            continue
        path = (*assigned.path, "implementation")
        recipe = catalog.recipes.get(name)
        if recipe is None:
            suited = [
                other.name for other in catalog.recipes.values() if assigned.role in other.roles
            ]
            yield TableProblem(path, *unknown(name, suited))
        elif assigned.role not in recipe.roles:
            roles = ", ".join(recipe.roles)
            yield TableProblem(path, f"{recipe.name} cannot be a {assigned.role}, only {roles}")
        else:
            yield from _version_mistakes(assigned, recipe)
            yield from _workload_mistakes(assigned, recipe)
            yield from _visit_mistakes(assigned)
            yield from _retry_mistakes(assigned, recipe)
            yield from _knob_mistakes(assigned, recipe)
            yield from _control_mistakes(assigned, recipe)
            yield from _tcp_mistakes(assigned)
            yield from _chain_mistakes(assigned, recipe, catalog)


def _assignments(scenario: Document) -> Iterator[_RoleAssignment]:
    workload = table(scenario.get("workload"))
    yield from _assignments_of(("roles",), table(scenario.get("roles")), workload)
    competitors = scenario.get("competitors")
    for index, competitor in enumerate(competitors if isinstance(competitors, list) else ()):
        roles = table(competitor)
        own_workload = table(roles.get("workload")) or workload
        yield from _assignments_of(("competitors", index), roles, own_workload)


def _assignments_of(
    path: KeyPath, roles: Document, workload: Document
) -> Iterator[_RoleAssignment]:
    client, server = table(roles.get("client")), table(roles.get("server"))
    listed = roles.get("proxies")
    proxies = [table(proxy) for proxy in listed] if isinstance(listed, list) else []
    versions = [
        _version(client.get("http_version")),
        *(_version(proxy.get("http_version", "1.1")) for proxy in proxies),
    ]
    needs = _needs(workload)
    names = ["", *(str(proxy.get("implementation", "")) for proxy in proxies), ""]
    retry = client.get("retry")
    yield _RoleAssignment(
        (*path, "client"),
        "client",
        client,
        versions[0],
        needs=needs,
        next_proxy=names[1],
        retry=retry,
    )
    for index, proxy in enumerate(proxies):
        yield _RoleAssignment(
            (*path, "proxies", index),
            "proxy",
            proxy,
            http_version=versions[index],
            upstream_http_version=versions[index + 1],
            needs=tuple(need for need in needs if need not in OF_ORIGINS) if index == 0 else (),
            next_proxy=names[index + 2],
            previous_proxy=names[index],
        )
    yield _RoleAssignment(
        (*path, "server"),
        "server",
        server,
        versions[-1],
        needs=tuple(need for need in needs if need in OF_ORIGINS or not proxies),
        previous_proxy=names[-2],
        retry=retry,
    )


def _needs(workload: Document) -> tuple[Capability, ...]:
    """Return what a workload needs of programs; nothing if the workload is invalid."""
    try:
        return tuple(workload_of(workload).needs())
    except ValueError:
        return ()


def _version_mistakes(assigned: _RoleAssignment, recipe: Recipe) -> Iterator[TableProblem]:
    version, upstream = assigned.http_version, assigned.upstream_http_version
    if version and version not in recipe.http_versions:
        speaks = ", ".join(recipe.http_versions)
        reason = f"{recipe.name} speaks {speaks} as a {assigned.role}, not {version}"
        path = (*assigned.path[:-1], "client", "http_version")
        is_proxy = assigned.role == "proxy"
        yield TableProblem((*assigned.path, "implementation") if is_proxy else path, reason)
    if upstream and upstream not in recipe.upstream_http_versions:
        speaks = ", ".join(recipe.upstream_http_versions)
        reason = f"{recipe.name} speaks {speaks} upstream, not {upstream}"
        yield TableProblem((*assigned.path, "http_version"), reason)


def _workload_mistakes(assigned: _RoleAssignment, recipe: Recipe) -> Iterator[TableProblem]:
    if assigned.role == "proxy" and RECORDED in assigned.needs:
        reason = "no proxy has the names and certificates of a recorded page's origins"
        yield TableProblem(assigned.path, reason, "leave proxies out, or load another page")
        return
    if assigned.role == "proxy" and assigned.uploads:
        reason = "no proxy can be in an upload's path: httpbed does not observe what it passes on"
        yield TableProblem(assigned.path, reason, "leave proxies out, or download")
        return
    of_client = [need for need in assigned.needs if need != RECORDED]
    of_server = [need for need in assigned.needs if need in OF_SERVERS]
    needs = of_client if assigned.role == "client" else of_server
    can = ", ".join(recipe.workloads)
    methods = [method for method, upload in UPLOADS_BY.items() if upload in recipe.workloads]
    for need in needs:
        if need not in recipe.workloads:
            reason = f"{recipe.name} as a {assigned.role} cannot do {need!r}; it can: {can}"
            path = ("workload", *_REQUESTED_BY.get(need, ()))
            by_other = need in UPLOADS_BY.values() and methods
            instead = f'set method = "{methods[0]}", or ' if by_other else ""
            yield TableProblem(path, reason, f"{instead}choose another program or another workload")
    version = assigned.http_version
    if assigned.role == "client" and "connections" in needs and version in _MULTIPLEXED:
        reason = f"{recipe.name} uses one connection for all requests in HTTP/{version}"
        if "connections" in recipe.workloads:
            remedy = "exclude these treatments, or delete connections; HTTP/1.1 takes several"
            yield TableProblem(("workload", "connections"), reason, remedy)


def _visit_mistakes(assigned: _RoleAssignment) -> Iterator[TableProblem]:
    """Yield a mistake for a visit that another setting of workload or roles makes impossible."""
    if assigned.role != "client":
        return
    if "page: discovery" in assigned.needs and assigned.http_version not in {"3", None}:
        path = (*assigned.path, "http_version")
        reason = f"a discovery visit discovers HTTP/3, not HTTP/{assigned.http_version}"
        yield TableProblem(path, reason, 'say "3", or choose another visit')
    unrecorded = [need for need in assigned.needs if need in UNRECORDED]
    if RECORDED in assigned.needs and unrecorded:
        reason = f"a recorded page has only its recorded headers, so no {unrecorded[0]}"
        yield TableProblem(("workload", "visit"), reason, "choose another visit or another page")


def _retry_mistakes(assigned: _RoleAssignment, recipe: Recipe) -> Iterator[TableProblem]:
    """Yield a mistake for a retry that the program cannot do, or for a workload of many files."""
    retry, path = assigned.retry, (*assigned.path, "retry")
    if assigned.role == "server" and retry == "resume" and not recipe.ranges:
        reason = f"{recipe.name} sends whole files only, so no download can be resumed"
        remedy = "choose another server, or set the client's retry to restart"
        yield TableProblem((*assigned.path, "implementation"), reason, remedy)
    if assigned.role != "client" or retry not in get_args(RetryKind):
        return
    if retry not in recipe.retrying.able():
        can = " or ".join(("none", *recipe.retrying.able()))
        remedy = f"say {can}, or choose another client"
        yield TableProblem(path, f"{recipe.name} cannot {retry} a failed download", remedy)
    if beyond := [need for need in assigned.needs if need != "download"]:
        reason = f"a client with a retry fetches one file once, not {', '.join(beyond)}"
        yield TableProblem(path, reason, "delete retry, or choose a workload of one file")


def _knob_mistakes(assigned: _RoleAssignment, recipe: Recipe) -> Iterator[TableProblem]:
    for name, value in table(assigned.document.get("knobs")).items():
        if name in recipe.knobs and not isinstance(value, str):
            continue
        if reason := recipe.refuses_knob(name, str(value)):
            yield TableProblem((*assigned.path, "knobs", name), reason)


def _control_mistakes(assigned: _RoleAssignment, recipe: Recipe) -> Iterator[TableProblem]:
    """Yield a mistake for an algorithm that the program would ignore, such as one fixed for QUIC.

    The congestion control of an end that sends no bodies does not matter, so any of the kernel's
    algorithms is accepted of a client that only downloads, and of the server of an upload.
    """
    algorithm = assigned.document.get("congestion_control")
    if not isinstance(algorithm, str) or assigned.http_version is None:
        return
    control = recipe.congestion_control
    receiver = "server" if assigned.uploads else "client"
    if assigned.role == receiver and algorithm in {*control.allowed("tcp"), FIXED}:
        return
    if reason := recipe.refuses_control(assigned.transport, algorithm):
        yield TableProblem((*assigned.path, "congestion_control"), reason)


def _tcp_mistakes(assigned: _RoleAssignment) -> Iterator[TableProblem]:
    """Yield a mistake for a key of TCP sockets, if the program has none: it speaks only HTTP/3."""
    versions = {assigned.http_version, assigned.upstream_http_version} - {None}
    if versions != {"3"}:
        return
    for name in OF_TCP:
        if assigned.document.get(name) is not None:
            reason = f"the {assigned.role} has no TCP socket over HTTP/3"
            remedy = "delete it, or exclude these treatments"
            yield TableProblem((*assigned.path, name), reason, remedy)


def _chain_mistakes(
    assigned: _RoleAssignment, recipe: Recipe, catalog: Catalog
) -> Iterator[TableProblem]:
    """Yield a mistake for half a tunnel, and for a server that a proxy cannot work with."""
    path = (*assigned.path, "implementation")
    if assigned.role == "proxy" and recipe.next_proxy not in {None, assigned.next_proxy}:
        yield TableProblem(path, f"{recipe.name} needs {recipe.next_proxy} as the next proxy")
    near = sorted(
        name for name, other in catalog.recipes.items() if other.next_proxy == recipe.name
    )
    if assigned.role == "proxy" and near and assigned.previous_proxy not in near:
        reason = f"{recipe.name} accepts requests only from {' or '.join(near)}"
        yield TableProblem(path, reason, f"put {near[0]} before it")
    before, after, version = assigned.previous_proxy, assigned.next_proxy, assigned.http_version
    if assigned.role == "server" and not recipe.works_behind(before, version):
        reason = f"{recipe.name} does not work behind {before} over HTTP/{version}"
        yield TableProblem(path, reason, "choose another HTTP version between them, or server")
    if assigned.role == "client" and not recipe.works_through(after, version):
        reason = f"{recipe.name} does not work through {after} over HTTP/{version}"
        yield TableProblem(path, reason, "choose another client")


def _version(stated: object) -> str | None:
    return stated if isinstance(stated, str) and stated in _VERSIONS else None
