"""Routes over a client's access links: which networks each link reaches alone.

A program knows a host by one address, the one that faces the client's first access link. Over
another link the client may reach that host from another side. Then the hosts on that path get a
route to this address, and the host accepts it on whatever link it arrives (RFC 1122, 3.3.4.2: Linux
is a weak end system).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from httpbed.bed.network import routes
from httpbed.bed.network.addresses import End
from httpbed.bed.network.routes import Ends, Entry
from httpbed.experiment import route as routing
from httpbed.experiment.route import Route


@dataclass(frozen=True)
class AccessRoutes:
    """The paths of a client that has several links to the network."""

    ends: Ends
    client: str
    access: Sequence[int]
    """Indices of its access links, in order; the client starts on the first."""
    forwarding: AbstractSet[str]

    def over(self, number: int) -> list[Entry]:
        """Return the client's routing table if access link ``number`` were its only one."""
        link = self.access[number]
        found = list(routes.of_host(self.ends, self.client, self.forwarding, self._all_but(link)))
        for known, ways in self._detours:
            if way := ways[number]:
                found.append(self._to(known, *way[0]))
        return found

    def besides(self) -> list[Entry]:
        """Return the client's routes that lead over none of its access links."""
        found = routes.of_host(self.ends, self.client, self.forwarding, self.access[1:])
        own = [self.ends[link] for link in self.access]
        networks = {pair[0].network for pair in own}
        return [
            entry
            for entry in found
            if entry.network not in networks and not any(entry.own in pair for pair in own)
        ]

    def on(self, host: str) -> list[Entry]:
        """Return the routes that another host needs in addition to its own."""
        found = (
            self._to(known, link, side)
            for known, ways in self._detours
            for way in ways
            if way and self._end(way) != known
            for link, side in way[1:]
            if self.ends[link][side].host == host
        )
        return list(dict.fromkeys(found))

    @cached_property
    def _detours(self) -> list[tuple[End, list[Route]]]:
        """Return the ends whose addresses some access link cannot reach, with the paths."""
        if not self.access:
            return []
        ways = [self._reached(self._all_but(link)) for link in self.access]
        found = (
            (self._end(way), [reached.get(host, ()) for reached in ways])
            for host, way in self._reached(set(self.access[1:])).items()
            if way and host not in self.forwarding and way[0][0] == self.access[0]
        )
        return [
            (known, each)
            for known, each in found
            if any(way and self._end(way) != known for way in each)
        ]

    def _reached(self, without: AbstractSet[int]) -> dict[str, Route]:
        links = [routes.hosts(pair) for pair in self.ends]
        return routing.all_from(links, self.client, self.forwarding, without)

    def _all_but(self, link: int) -> set[int]:
        own = (index for index, pair in enumerate(self.ends) if self.client in routes.hosts(pair))
        return set(own) - {link}

    def _end(self, way: Route) -> End:
        link, side = way[-1]
        return self.ends[link][1 - side]

    def _to(self, known: End, link: int, side: int) -> Entry:
        """Return the route to one address over a link."""
        own, far = self.ends[link][side], self.ends[link][1 - side]
        bits = 128 if ":" in known.address else 32
        return Entry(f"{known.address}/{bits}", own, None if far == known else far)
