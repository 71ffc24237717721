"""Who is to take which role, checked against the recipes; before anything is complete.

It reads a treatment's document, not its models: what they refuse is passed over here, is
reported anyway, and hides nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from httpbed.experiment.roles import FIXED, HttpVersion
from httpbed.experiment.workload import Capability
from httpbed.experiment.workload import parse as workload_of
from httpbed.programs.catalog import Catalog
from httpbed.programs.protocol import RoleName
from httpbed.programs.recipe import Recipe
from httpbed.programs.settings import RetryKind, Transport

Path = tuple[str | int, ...]
Document = Mapping[str, Any]

_VERSIONS = get_args(HttpVersion)
OF_ORIGINS: frozenset[Capability] = frozenset({"page", "page: repeat view"})
"""Asked of the server, whoever stands before it: it has the page, and says what may be kept."""
OF_SERVERS = frozenset(
    {
        "resumed",
        "early data",
        "page",
        "recorded page",
        "page: repeat view",
        "page: resumed",
        "page: early data",
        "page: discovery",
    }
)
UNRECORDED = ("page: discovery", "page: repeat view")
"""Visits for which answers bear headers that a recording may not have."""
RECORDED: Capability = "recorded page"
_MULTIPLEXED = frozenset({"2", "3"})
"""In these, no client opens several connections to one server."""


@dataclass(frozen=True)
class RoleMistake:
    """Something that a program cannot do as it is told."""

    path: Path
    reason: str
    remedy: str = ""


@dataclass(frozen=True)
class _RoleAssignment:
    """One role as a document tells it."""

    path: Path
    role: RoleName
    said: Document
    asked: str | None
    """The HTTP version that a client asks for, or in which a server or proxy is asked."""
    asks: str | None = None
    """The HTTP version in which a proxy asks."""
    needs: tuple[Capability, ...] = ()
    """What the workload asks of it."""
    following: str = ""
    """Name of the proxy that is next towards the server; empty where it is the server."""
    behind: str = ""
    """Name of the proxy that asks it; empty where it is the client."""
    retry: object = None
    """What the client does about a download that failed."""

    @property
    def transport(self) -> Transport:
        return "quic" if self.asked == "3" else "tcp"


def role_mistakes(catalog: Catalog, scenario: Document) -> Iterator[RoleMistake]:
    """Yield what is wrong with who is to take which role in a scenario's document."""
    for cast in _assignments(scenario):
        name = cast.said.get("implementation")
        if not isinstance(name, str):
            continue
        recipe = catalog.recipes.get(name)
        if recipe is None:
            able = (one.name for one in catalog.recipes.values() if cast.role in one.roles)
            known = ", ".join(sorted(able))
            path = (*cast.path, "implementation")
            yield RoleMistake(path, f"no recipe {name!r}; known: {known}")
        elif cast.role not in recipe.roles:
            path = (*cast.path, "implementation")
            can = ", ".join(recipe.roles)
            yield RoleMistake(path, f"{recipe.name} cannot be a {cast.role}, only {can}")
        else:
            yield from _version_mistakes(cast, recipe)
            yield from _workload_mistakes(cast, recipe)
            yield from _visit_mistakes(cast)
            yield from _retry_mistakes(cast, recipe)
            yield from _knob_mistakes(cast, recipe)
            yield from _control_mistakes(cast, recipe)
            yield from _chain_mistakes(cast, recipe, catalog)


def _assignments(scenario: Document) -> Iterator[_RoleAssignment]:
    workload = _table(scenario.get("workload"))
    yield from _assignments_of(("roles",), _table(scenario.get("roles")), workload)
    competitors = scenario.get("competitors")
    for index, said in enumerate(competitors if isinstance(competitors, list) else ()):
        own = _table(said)
        yield from _assignments_of(
            ("competitors", index), own, _table(own.get("workload")) or workload
        )


def _assignments_of(path: Path, roles: Document, workload: Document) -> Iterator[_RoleAssignment]:
    client, server = _table(roles.get("client")), _table(roles.get("server"))
    said = roles.get("proxies")
    proxies = [_table(proxy) for proxy in said] if isinstance(said, list) else []
    versions = [
        _version(client.get("http_version")),
        *(_version(proxy.get("http_version", "1.1")) for proxy in proxies),
    ]
    needs = _needs(workload)
    names = ["", *(str(proxy.get("implementation", "")) for proxy in proxies), ""]
    retry = client.get("retry")
    yield _RoleAssignment(
        (*path, "client"), "client", client, versions[0], needs=needs, retry=retry
    )
    for index, proxy in enumerate(proxies):
        yield _RoleAssignment(
            (*path, "proxies", index),
            "proxy",
            proxy,
            asked=versions[index],
            asks=versions[index + 1],
            needs=tuple(need for need in needs if need not in OF_ORIGINS) if index == 0 else (),
            following=names[index + 2],
            behind=names[index],
        )
    of_server = tuple(need for need in needs if need in OF_ORIGINS or not proxies)
    place = (*path, "server")
    yield _RoleAssignment(
        place, "server", server, versions[-1], needs=of_server, behind=names[-2], retry=retry
    )


def _needs(workload: Document) -> tuple[Capability, ...]:
    """Say what a workload asks of programs, as far as it can be read."""
    try:
        return tuple(workload_of(workload).needs())
    except ValueError:
        return ()


def _version_mistakes(cast: _RoleAssignment, recipe: Recipe) -> Iterator[RoleMistake]:
    if cast.asked and cast.asked not in recipe.http_versions:
        speaks = ", ".join(recipe.http_versions)
        reason = f"{recipe.name} speaks {speaks} as a {cast.role}, not {cast.asked}"
        path = (*cast.path[:-1], "client", "http_version")
        yield RoleMistake(path if cast.role != "proxy" else (*cast.path, "implementation"), reason)
    if cast.asks and cast.asks not in recipe.upstream_http_versions:
        speaks = ", ".join(recipe.upstream_http_versions)
        reason = f"{recipe.name} speaks {speaks} upstream, not {cast.asks}"
        yield RoleMistake((*cast.path, "http_version"), reason)


def _workload_mistakes(cast: _RoleAssignment, recipe: Recipe) -> Iterator[RoleMistake]:
    if cast.role == "proxy" and RECORDED in cast.needs:
        reason = "a recorded page's origins have names and certificates that no proxy has"
        yield RoleMistake(cast.path, reason, "leave proxies out, or load another page")
        return
    of_client = [need for need in cast.needs if need != RECORDED]
    asked = of_client if cast.role == "client" else _of_servers(cast.needs)
    for need in asked:
        if need not in recipe.workloads:
            can = ", ".join(recipe.workloads)
            reason = f"{recipe.name} as a {cast.role} cannot do {need!r}; it can: {can}"
            yield RoleMistake(("workload",), reason, "take another program, or another workload")
    if cast.role == "client" and "connections" in asked and cast.asked in _MULTIPLEXED:
        reason = f"{recipe.name} fetches all over one connection in HTTP/{cast.asked}"
        if "connections" in recipe.workloads:
            remedy = "exclude these treatments, or leave connections out; HTTP/1.1 takes several"
            yield RoleMistake(("workload", "connections"), reason, remedy)


def _visit_mistakes(cast: _RoleAssignment) -> Iterator[RoleMistake]:
    """Refuse a visit that another of the workload's or the roles' settings makes impossible."""
    if cast.role != "client":
        return
    if "page: discovery" in cast.needs and cast.asked not in {"3", None}:
        reason = "it is HTTP/3 that is discovered, and the page loaded over it"
        path = (*cast.path, "http_version")
        yield RoleMistake(
            path, f"{reason}, not HTTP/{cast.asked}", 'say "3", or take another visit'
        )
    told = [need for need in cast.needs if need in UNRECORDED]
    if "recorded page" in cast.needs and told:
        reason = f"a recorded site has the headers that it was recorded with: no {told[0]}"
        yield RoleMistake(("workload", "visit"), reason, "take another visit, or another page")


def _of_servers(needs: Sequence[Capability]) -> list[Capability]:
    """Of what a workload needs, what a server must be able to do; the rest is the client's."""
    return [need for need in needs if need in OF_SERVERS]


def _retry_mistakes(cast: _RoleAssignment, recipe: Recipe) -> Iterator[RoleMistake]:
    """Refuse what a program cannot do about a failure, and what would be no one file fetched."""
    retry, path = cast.retry, (*cast.path, "retry")
    if cast.role == "server" and retry == "resume" and not recipe.ranges:
        reason = f"{recipe.name} sends whole files only: no download can be resumed"
        remedy = "take another server, or let the client's retry be restart"
        yield RoleMistake((*cast.path, "implementation"), reason, remedy)
    if cast.role != "client" or retry not in get_args(RetryKind):
        return
    if retry not in recipe.retrying.able():
        can = " or ".join(("none", *recipe.retrying.able()))
        remedy = f"say {can}, or take another client"
        yield RoleMistake(path, f"{recipe.name} cannot {retry} a failed download", remedy)
    if beyond := [need for need in cast.needs if need != "download"]:
        reason = f"a client with a retry fetches one file once, not {', '.join(beyond)}"
        yield RoleMistake(path, reason, "leave retry out, or take a workload of one file")


def _knob_mistakes(cast: _RoleAssignment, recipe: Recipe) -> Iterator[RoleMistake]:
    for name, value in _table(cast.said.get("knobs")).items():
        path = (*cast.path, "knobs", name)
        knob = recipe.knobs.get(name)
        if knob is None:
            known = ", ".join(sorted(recipe.knobs)) or "none"
            yield RoleMistake(path, f"{recipe.name} has no knob {name!r}; known: {known}")
        elif isinstance(value, str) and not knob.accepts(value):
            yield RoleMistake(path, f"{value!r} is not what it accepts: {knob.domain()}")


def _control_mistakes(cast: _RoleAssignment, recipe: Recipe) -> Iterator[RoleMistake]:
    """Refuse a level that would be a label only: a program may have its own fixed for QUIC."""
    said = cast.said.get("congestion_control")
    if not isinstance(said, str) or cast.asked is None:
        return
    control, transport = recipe.congestion_control, cast.transport
    if cast.role == "client" and said in {*control.allowed("tcp"), FIXED}:
        return  # what counts is what the others send
    if said in control.allowed(transport):
        return
    path = (*cast.path, "congestion_control")
    can = ", ".join(control.allowed(transport))
    over = "TCP" if transport == "tcp" else "QUIC"
    if control.is_fixed(transport):
        reason = f"{recipe.name} offers no choice for what it sends over {over}, not {said}"
        yield RoleMistake(path, reason, f"say {can.replace(', ', ' or ')}, or leave it out")
    else:
        reason = f"{recipe.name} does not offer {said!r} for what it sends over {over}"
        yield RoleMistake(path, f"{reason}; known: {can}")


def _chain_mistakes(
    cast: _RoleAssignment, recipe: Recipe, catalog: Catalog
) -> Iterator[RoleMistake]:
    """Refuse a tunnel of which one end is missing, and a server that a proxy cannot ask."""
    path = (*cast.path, "implementation")
    if cast.role == "proxy" and recipe.next_proxy not in {None, cast.following}:
        yield RoleMistake(path, f"{recipe.name} needs {recipe.next_proxy} as the next proxy")
    near = sorted(one.name for one in catalog.recipes.values() if one.next_proxy == recipe.name)
    if cast.role == "proxy" and near and cast.behind not in near:
        reason = f"{recipe.name} takes what comes from {' or '.join(near)} only"
        yield RoleMistake(path, reason, f"put {near[0]} before it")
    if cast.role == "server" and cast.asked in recipe.not_behind.get(cast.behind, ()):
        reason = f"{recipe.name} does not work behind {cast.behind} over HTTP/{cast.asked}"
        yield RoleMistake(path, reason, "take another HTTP version between them, or another server")


def _version(said: object) -> str | None:
    return said if isinstance(said, str) and said in _VERSIONS else None


def _table(said: object) -> Document:
    return said if isinstance(said, Mapping) else {}
