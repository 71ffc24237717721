"""Which programs run together: a client, proxies and a server that share HTTP versions.

Each pairing checks some promises: that a client sends requests in a version, that a server responds
in it, or that a proxy does both. A program without counterparts has no pairing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.workload import UPLOADS_BY, Method
from httpbed.programs.part import RoleName
from httpbed.programs.recipe import Recipe

NOTHING: Mapping[str, Any] = {}
LINK = {"rate": "100 Mbit/s", "delay": "1 ms"}
"""Fast enough for short trials, slow enough for any machine."""


@dataclass(frozen=True)
class ProxyHop:
    """A proxy between client and server."""

    proxy: str
    upstream_http_version: str
    """HTTP version of its requests to the next program."""


@dataclass(frozen=True)
class Pairing:
    """A client, perhaps proxies, and a server."""

    client: str
    http_version: str
    """HTTP version of the client's requests."""
    server: str
    proxies: tuple[ProxyHop, ...] = ()
    """From the client to the server."""

    def members(self) -> set[str]:
        """Return the names of all programs in it."""
        return {self.client, self.server, *(proxy.proxy for proxy in self.proxies)}

    def promises(self) -> Iterator[Promise]:
        """Yield the promises that it checks."""
        yield Promise(self.client, "client", self.http_version)
        version = self.http_version
        for hop in self.proxies:
            yield Promise(hop.proxy, "proxy", version, hop.upstream_http_version)
            version = hop.upstream_http_version
        yield Promise(self.server, "server", version)

    def title(self) -> str:
        """Return it as one line, in the order of a request's path."""
        hops = (
            f" -> {proxy.proxy} -> HTTP/{proxy.upstream_http_version}" for proxy in self.proxies
        )
        return f"{self.client} -> HTTP/{self.http_version}{''.join(hops)} -> {self.server}"

    def document(
        self, size: int, method: Method = "GET", further: Mapping[str, Any] = NOTHING
    ) -> dict[str, Any]:
        """Return the scenario that transfers one file, or several as ``further`` says."""
        is_upload = method in UPLOADS_BY
        workload = {"kind": "upload", "method": method} if is_upload else {"kind": "download"}
        several = len(self.proxies) > 1
        numbers = range(1, len(self.proxies) + 1)
        proxies = [f"proxy{number}" if several else "proxy" for number in numbers]
        hosts = ["client", *proxies, "server"]
        return {
            "topology": {
                "hosts": hosts,
                "links": [{"between": list(ends), **LINK} for ends in pairwise(hosts)],
            },
            "roles": {
                "client": {"implementation": self.client, "http_version": self.http_version},
                "proxies": [
                    {"implementation": proxy.proxy, "http_version": proxy.upstream_http_version}
                    for proxy in self.proxies
                ],
                "server": {"implementation": self.server},
            },
            "workload": {**workload, "size": f"{size} B", **further},
        }


def every(recipes: Sequence[Recipe]) -> list[Pairing]:
    """Return every client with every server in every version, direct and through every proxy."""
    return [
        pairing
        for client in _able(recipes, "client")
        for version in client.http_versions
        for pairing in _of_client(recipes, client, version)
    ]


def covering(recipes: Sequence[Recipe]) -> list[Pairing]:
    """Return pairings that check each promise: of every pairing, those of versatile programs first.

    Direct ones come before those through a proxy, so that a proxy's fault is not the server's.
    """
    versatility = {recipe.name: _versatility(recipe) for recipe in recipes}
    ranked = sorted(
        every(recipes),
        key=lambda one: (-len(one.proxies), versatility[one.client], versatility[one.server]),
        reverse=True,
    )
    chosen, left = list[Pairing](), promises(recipes)
    for pairing in ranked:
        if checks := left.intersection(pairing.promises()):
            chosen.append(pairing)
            left -= checks
    return chosen


def _of_client(recipes: Sequence[Recipe], client: Recipe, version: str) -> Iterator[Pairing]:
    for server in _able(recipes, "server", version):
        yield Pairing(client.name, version, server.name)
    far_ends = {recipe.next_proxy for recipe in recipes}  # of tunnels, to which no client connects
    for proxy in _able(recipes, "proxy", version):
        if proxy.name in far_ends or not client.works_through(proxy.name, version):
            continue
        for hops in _chains(recipes, proxy):
            last = hops[-1]
            for server in _able(recipes, "server", last.upstream_http_version):
                if server.works_behind(last.proxy, last.upstream_http_version):
                    yield Pairing(client.name, version, server.name, hops)


def _chains(recipes: Sequence[Recipe], proxy: Recipe) -> Iterator[tuple[ProxyHop, ...]]:
    """Yield the proxies on a path from this one on: itself, or both ends of a tunnel."""
    for upstream in proxy.upstream_http_versions:
        first = ProxyHop(proxy.name, upstream)
        if proxy.next_proxy is None:
            yield (first,)
        for far in _able(recipes, "proxy", upstream):
            if far.name == proxy.next_proxy:
                yield from ((first, *rest) for rest in _chains(recipes, far))


def _able(recipes: Sequence[Recipe], role: RoleName, version: str | None = None) -> list[Recipe]:
    """Return the programs for a role that speak a version."""
    return [
        recipe
        for recipe in recipes
        if _can_be(recipe, role) and (version is None or version in recipe.http_versions)
    ]


def require_downloads(recipes: Iterable[Recipe]) -> None:
    """Refuse browsers that load pages only.

    :raises ConfigError: naming each.
    """
    pages = [
        recipe.name
        for recipe in recipes
        if recipe.roles == ["client"] and not _can_be(recipe, "client")
    ]
    if pages:
        reason = "loads pages only, and a check downloads files"
        remedy = "load a page with it, such as httpbed compare {} --page gentelella"
        raise ConfigError([Mistake(name, reason, remedy.format(name)) for name in pages])


def _can_be(recipe: Recipe, role: RoleName) -> bool:
    """Return whether a pairing can check a role: of clients, those that download a file."""
    return role in recipe.roles and (role != "client" or "download" in recipe.workloads)


def _versatility(recipe: Recipe) -> tuple[int, ...]:
    """Return a sort key: programs that store bodies and have the most abilities come last."""
    return (
        int(recipe.stores_bodies),
        len(recipe.http_versions),
        len(recipe.workloads),
        len(recipe.knobs),
    )


@dataclass(frozen=True, order=True)
class Promise:
    """An ability that a recipe declares and a pairing can check."""

    name: str
    role: RoleName
    http_version: str
    upstream_http_version: str = ""
    """HTTP version of a proxy's requests."""

    def title(self) -> str:
        """Return it as one line."""
        version = self.upstream_http_version
        upstream = f", HTTP/{version} upstream" if version else ""
        return f"{self.name} as a {self.role} in HTTP/{self.http_version}{upstream}"


def promises(recipes: Iterable[Recipe]) -> set[Promise]:
    """Return the roles and HTTP versions that recipes declare and a pairing can check."""
    return {
        Promise(recipe.name, role, version, upstream)
        for recipe in recipes
        for role in recipe.roles
        if _can_be(recipe, role)
        for version in recipe.http_versions
        for upstream in (recipe.upstream_http_versions if role == "proxy" else [""])
    }


def checked(pairings: Iterable[Pairing]) -> set[Promise]:
    """Return the promises that pairings check."""
    return {promise for pairing in pairings for promise in pairing.promises()}
