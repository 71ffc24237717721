"""Which implementations meet in which roles: the ways that a request can take through them.

A way is enough to try one promise: that a client asks in a version, that a server answers in it,
or that a proxy does both. Without counterparts to choose from there is none.
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
"""Fast enough not to be waited for, slow enough for any machine."""


@dataclass(frozen=True)
class Through:
    """A proxy on the way."""

    proxy: str
    asks_in: str
    """HTTP version in which it asks the next one towards the server."""


@dataclass(frozen=True)
class Way:
    """A client, perhaps proxies, and a server."""

    client: str
    http_version: str
    """In which the client asks."""
    server: str
    through: tuple[Through, ...] = ()
    """In the order in which a request meets them."""

    def members(self) -> set[str]:
        """Names of all that take part."""
        return {self.client, self.server, *(one.proxy for one in self.through)}

    def promises(self) -> Iterator[Promise]:
        """Yield what it tries of each who takes part."""
        yield Promise(self.client, "client", self.http_version)
        asked = self.http_version
        for one in self.through:
            yield Promise(one.proxy, "proxy", asked, one.asks_in)
            asked = one.asks_in
        yield Promise(self.server, "server", asked)

    def title(self) -> str:
        """Say it in one line."""
        through = "".join(f" -> {one.proxy} -> HTTP/{one.asks_in}" for one in self.through)
        return f"{self.client} -> HTTP/{self.http_version}{through} -> {self.server}"

    def document(self, size: int) -> dict[str, Any]:
        """Return the scenario in which a file of ``size`` bytes takes this way."""
        several = len(self.through) > 1
        numbers = range(1, len(self.through) + 1)
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
                    {"implementation": one.proxy, "http_version": one.asks_in}
                    for one in self.through
                ],
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
        *(way for proxy in cast.proxies() for way in cast.through_best(proxy)),
    ]
    return list(dict.fromkeys(found))


def every(recipes: Iterable[Recipe]) -> list[Way]:
    """Let every client meet every server in every version, direct and through every proxy."""
    cast = _Cast(list(recipes))
    return [way for client, version in cast.clients() for way in cast.all_from(client, version)]


@dataclass(frozen=True, order=True)
class Promise:
    """What a recipe declares, and a way can try."""

    name: str
    role: RoleName
    http_version: str
    asks_in: str = ""
    """HTTP version in which a proxy asks."""

    def title(self) -> str:
        """Say it in one line."""
        asks = f", asking in HTTP/{self.asks_in}" if self.asks_in else ""
        return f"{self.name} as a {self.role} in HTTP/{self.http_version}{asks}"


def promises(recipes: Iterable[Recipe]) -> set[Promise]:
    """List all that recipes declare of roles and HTTP versions."""
    return {
        Promise(recipe.name, role, version, asks_in)
        for recipe in recipes
        for role in recipe.roles
        for version in recipe.http_versions
        for asks_in in (recipe.upstream_http_versions if role == "proxy" else [""])
    }


def tried(ways: Iterable[Way]) -> set[Promise]:
    """List the promises that ways try."""
    return {promise for way in ways for promise in way.promises()}


@dataclass(frozen=True)
class _Cast:
    """All who may take part."""

    recipes: Sequence[Recipe]

    def of(
        self, role: RoleName, version: str | None = None, behind: Through | None = None
    ) -> list[Recipe]:
        """List those that can take a role, and answer or ask in a version."""
        able = [one for one in self.recipes if role in one.roles]
        return [
            one
            for one in able
            if (version is None or version in one.http_versions)
            and (behind is None or version not in one.not_behind.get(behind.proxy, ()))
        ]

    def clients(self) -> Iterator[tuple[Recipe, str]]:
        """Yield every client with every version in which it asks."""
        for client in self.of("client"):
            yield from ((client, version) for version in client.http_versions)

    def best(self, role: RoleName, version: str, behind: Through | None = None) -> Iterator[Recipe]:
        """Yield the most versatile of those that can, if there is one, and not the asking one."""
        able = self.of(role, version, behind)
        others = [one for one in able if behind is None or one.name != behind.proxy]
        yield from sorted(others, key=_versatility, reverse=True)[:1]

    def to_best(self, client: Recipe, version: str) -> Iterator[Way]:
        for server in self.best("server", version):
            yield Way(client.name, version, server.name)

    def from_best(self, server: Recipe) -> Iterator[Way]:
        for version in server.http_versions:
            for client in self.best("client", version):
                yield Way(client.name, version, server.name)

    def through_best(self, proxy: Recipe) -> Iterator[Way]:
        for version, through in itertools.product(proxy.http_versions, self.chains(proxy)):
            for client in self.best("client", version):
                for server in self.best("server", through[-1].asks_in, behind=through[-1]):
                    yield Way(client.name, version, server.name, through)

    def all_from(self, client: Recipe, version: str) -> Iterator[Way]:
        for server in self.of("server", version):
            yield Way(client.name, version, server.name)
        for proxy in self.proxies(version):
            for through in self.chains(proxy):
                for server in self.of("server", through[-1].asks_in, through[-1]):
                    yield Way(client.name, version, server.name, through)

    def proxies(self, version: str | None = None) -> list[Recipe]:
        """List the proxies that a client may meet first: not the far ends of tunnels."""
        behind = {one.next_proxy for one in self.recipes}
        return [one for one in self.of("proxy", version) if one.name not in behind]

    def chains(self, proxy: Recipe) -> Iterator[tuple[Through, ...]]:
        """Yield what a request goes through from this proxy on: itself, or a tunnel's both ends."""
        for asks_in in proxy.upstream_http_versions:
            first = Through(proxy.name, asks_in)
            if proxy.next_proxy is None:
                yield (first,)
            for far in self.of("proxy", asks_in):
                if far.name == proxy.next_proxy:
                    yield from ((first, *rest) for rest in self.chains(far))


def _versatility(recipe: Recipe) -> tuple[int, ...]:
    """Whoever can most, and stores what it fetches, makes the best counterpart."""
    return (
        int(recipe.stores_bodies),
        len(recipe.http_versions),
        len(recipe.workloads),
        len(recipe.knobs),
    )
