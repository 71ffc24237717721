"""Which programs run together: a client, proxies and a server that share HTTP versions.

Each pairing checks some promises: that a client sends requests in a version, that a server responds
in it, or that a proxy does both. A program without counterparts has no pairing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from httpbed.programs.protocol import RoleName
from httpbed.programs.recipe import Recipe

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
        return {self.client, self.server, *(one.proxy for one in self.proxies)}

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
        hops = (f" -> {one.proxy} -> HTTP/{one.upstream_http_version}" for one in self.proxies)
        return f"{self.client} -> HTTP/{self.http_version}{''.join(hops)} -> {self.server}"

    def document(self, size: int) -> dict[str, Any]:
        """Return the scenario that downloads a file of ``size`` bytes."""
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
                    {"implementation": one.proxy, "http_version": one.upstream_http_version}
                    for one in self.proxies
                ],
                "server": {"implementation": self.server},
            },
            "workload": {"kind": "download", "size": f"{size} B"},
        }


def few(recipes: Iterable[Recipe]) -> list[Pairing]:
    """Return pairings that check each role and HTTP version of every program once.

    The counterpart is the most versatile program that fits.
    """
    programs = _Programs(list(recipes))
    pairings = [
        *(
            pairing
            for client, version in programs.clients()
            for pairing in programs.to_best(client, version)
        ),
        *(
            pairing
            for server in programs.able_to_be("server")
            for pairing in programs.from_best(server)
        ),
        *(pairing for proxy in programs.proxies() for pairing in programs.through_best(proxy)),
    ]
    return list(dict.fromkeys(pairings))


def every(recipes: Iterable[Recipe]) -> list[Pairing]:
    """Return every client with every server in every version, direct and through every proxy."""
    programs = _Programs(list(recipes))
    return [
        pairing
        for client, version in programs.clients()
        for pairing in programs.all_from(client, version)
    ]


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
    """Return all roles and HTTP versions that recipes declare."""
    return {
        Promise(recipe.name, role, version, upstream)
        for recipe in recipes
        for role in recipe.roles
        for version in recipe.http_versions
        for upstream in (recipe.upstream_http_versions if role == "proxy" else [""])
    }


def checked(pairings: Iterable[Pairing]) -> set[Promise]:
    """Return the promises that pairings check."""
    return {promise for pairing in pairings for promise in pairing.promises()}


@dataclass(frozen=True)
class _Programs:
    """The programs to choose from."""

    recipes: Sequence[Recipe]

    def able_to_be(
        self, role: RoleName, version: str | None = None, behind: ProxyHop | None = None
    ) -> list[Recipe]:
        """Return the programs for a role that speak a version, also behind a proxy."""
        able = [one for one in self.recipes if role in one.roles]
        return [
            one
            for one in able
            if (version is None or version in one.http_versions)
            and (behind is None or one.works_behind(behind.proxy, version))
        ]

    def clients(self) -> Iterator[tuple[Recipe, str]]:
        """Yield every client with each of its HTTP versions."""
        for client in self.able_to_be("client"):
            yield from ((client, version) for version in client.http_versions)

    def best(
        self,
        role: RoleName,
        version: str,
        behind: ProxyHop | None = None,
        through: Recipe | None = None,
    ) -> Iterator[Recipe]:
        """Yield the most versatile program that fits, if any; not the proxy in front of it."""
        others = [
            one
            for one in self.able_to_be(role, version, behind)
            if (behind is None or one.name != behind.proxy)
            and (through is None or one.works_through(through.name, version))
        ]
        yield from sorted(others, key=_versatility, reverse=True)[:1]

    def to_best(self, client: Recipe, version: str) -> Iterator[Pairing]:
        for server in self.best("server", version):
            yield Pairing(client.name, version, server.name)

    def from_best(self, server: Recipe) -> Iterator[Pairing]:
        for version in server.http_versions:
            for client in self.best("client", version):
                yield Pairing(client.name, version, server.name)

    def through_best(self, proxy: Recipe) -> Iterator[Pairing]:
        for version, hops in itertools.product(proxy.http_versions, self.chains(proxy)):
            for client in self.best("client", version, through=proxy):
                for server in self.best("server", hops[-1].upstream_http_version, behind=hops[-1]):
                    yield Pairing(client.name, version, server.name, hops)

    def all_from(self, client: Recipe, version: str) -> Iterator[Pairing]:
        for server in self.able_to_be("server", version):
            yield Pairing(client.name, version, server.name)
        proxies = (one for one in self.proxies(version) if client.works_through(one.name, version))
        for proxy in proxies:
            for hops in self.chains(proxy):
                for server in self.able_to_be("server", hops[-1].upstream_http_version, hops[-1]):
                    yield Pairing(client.name, version, server.name, hops)

    def proxies(self, version: str | None = None) -> list[Recipe]:
        """Return the proxies that a client may connect to: all but the far ends of tunnels."""
        behind = {one.next_proxy for one in self.recipes}
        return [one for one in self.able_to_be("proxy", version) if one.name not in behind]

    def chains(self, proxy: Recipe) -> Iterator[tuple[ProxyHop, ...]]:
        """Yield the proxies on a path from this one on: itself, or both ends of a tunnel."""
        for upstream in proxy.upstream_http_versions:
            first = ProxyHop(proxy.name, upstream)
            if proxy.next_proxy is None:
                yield (first,)
            for far in self.able_to_be("proxy", upstream):
                if far.name == proxy.next_proxy:
                    yield from ((first, *rest) for rest in self.chains(far))


def _versatility(recipe: Recipe) -> tuple[int, ...]:
    """Return a sort key: programs that store bodies and have the most abilities come last."""
    return (
        int(recipe.stores_bodies),
        len(recipe.http_versions),
        len(recipe.workloads),
        len(recipe.knobs),
    )
