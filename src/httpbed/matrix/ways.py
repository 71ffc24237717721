"""Which implementations meet in which roles: the ways that a request can take through them.

A way is enough to try one promise: that a client asks in a version, that a server answers in it,
or that a proxy does both. Without counterparts to choose from there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from httpbed.implementations.protocol import RoleName
from httpbed.implementations.recipe import Recipe

LINK = {"rate": "100 Mbit/s", "delay": "1 ms"}
"""Fast enough not to be waited for, slow enough for any machine."""


@dataclass(frozen=True)
class Way:
    """A client, perhaps a proxy, and a server."""

    client: str
    http_version: str
    """In which the client asks."""
    server: str
    proxy: str | None = None
    upstream: str | None = None
    """HTTP version in which the proxy asks."""

    def members(self) -> set[str]:
        """Names of all that take part."""
        return {self.client, self.server} | ({self.proxy} if self.proxy else set())

    def title(self) -> str:
        """Say it in one line."""
        through = f" -> {self.proxy} -> HTTP/{self.upstream}" if self.proxy else ""
        return f"{self.client} -> HTTP/{self.http_version}{through} -> {self.server}"

    def document(self, size: int) -> dict[str, Any]:
        """Return the scenario in which a file of ``size`` bytes takes this way."""
        hosts = ["client", *(["proxy"] if self.proxy else []), "server"]
        links = [{"between": list(ends), **LINK} for ends in pairwise(hosts)]
        proxy = {"implementation": self.proxy, "http_version": self.upstream}
        return {
            "topology": {"hosts": hosts, "links": links},
            "roles": {
                "client": {"implementation": self.client, "http_version": self.http_version},
                "proxies": [proxy] if self.proxy else [],
                "server": {"implementation": self.server},
            },
            "workload": {"kind": "download", "size": f"{size} B"},
        }


def few(recipes: Iterable[Recipe]) -> list[Way]:
    """Try every role and HTTP version of each once, with the most versatile counterpart."""
    cast = _Cast(list(recipes))
    found = [
        *(way for client, version in cast.clients() for way in cast.to_best(client, version)),
        *(way for server in cast.of("server") for way in cast.from_best(server)),
        *(way for proxy in cast.of("proxy") for way in cast.through(proxy)),
    ]
    return list(dict.fromkeys(found))


def every(recipes: Iterable[Recipe]) -> list[Way]:
    """Let every client meet every server in every version, direct and through every proxy."""
    cast = _Cast(list(recipes))
    return [way for client, version in cast.clients() for way in cast.all_from(client, version)]


@dataclass(frozen=True)
class _Cast:
    """All who may take part."""

    recipes: Sequence[Recipe]

    def of(self, role: RoleName, version: str | None = None) -> list[Recipe]:
        """List those that can take a role, and answer or ask in a version."""
        able = [one for one in self.recipes if role in one.roles]
        return [one for one in able if version is None or version in one.http_versions]

    def clients(self) -> Iterator[tuple[Recipe, str]]:
        """Yield every client with every version in which it asks."""
        for client in self.of("client"):
            yield from ((client, version) for version in client.http_versions)

    def best(self, role: RoleName, version: str, but: Recipe | None = None) -> Iterator[Recipe]:
        """Yield the most versatile of those that can, if there is one besides ``but``."""
        able = [one for one in self.of(role, version) if one is not but]
        yield from sorted(able, key=_versatility, reverse=True)[:1]

    def to_best(self, client: Recipe, version: str) -> Iterator[Way]:
        for server in self.best("server", version):
            yield Way(client.name, version, server.name)

    def from_best(self, server: Recipe) -> Iterator[Way]:
        for version in server.http_versions:
            for client in self.best("client", version):
                yield Way(client.name, version, server.name)

    def through(self, proxy: Recipe) -> Iterator[Way]:
        for version in proxy.http_versions:
            for upstream in proxy.upstream_http_versions:
                for client in self.best("client", version):
                    for server in self.best("server", upstream, but=proxy):
                        yield Way(client.name, version, server.name, proxy.name, upstream)

    def all_from(self, client: Recipe, version: str) -> Iterator[Way]:
        for server in self.of("server", version):
            yield Way(client.name, version, server.name)
        for proxy in self.of("proxy", version):
            for upstream in proxy.upstream_http_versions:
                for server in self.of("server", upstream):
                    yield Way(client.name, version, server.name, proxy.name, upstream)


def _versatility(recipe: Recipe) -> tuple[int, ...]:
    """Whoever can most, and stores what it fetches, makes the best counterpart."""
    return (
        int(recipe.stores_bodies),
        len(recipe.http_versions),
        len(recipe.workloads),
        len(recipe.knobs),
    )
