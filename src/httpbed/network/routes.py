"""Routes: how every host reaches every link's network; pure.

A host without a role is a router: it forwards what is not its own. No other host does, so nothing
passes a host that takes part. A network is reached by the shortest path to an end of it that
forwards; where neither does, it is reached by nobody but its own two hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from httpbed.model import paths
from httpbed.model.paths import Path
from httpbed.network.addresses import End

Ends = Sequence[tuple[End, End]]


@dataclass(frozen=True)
class Route:
    """How a host reaches a network."""

    network: str
    """In CIDR notation."""
    own: End
    """By which of its ends packets leave, and from whose address."""
    via: End | None
    """The next hop's end; None where the network is that link's own."""


def of_host(ends: Ends, host: str, forwarding: AbstractSet[str]) -> Iterator[Route]:
    """Find every route of a host: first to its own networks, for there the next hops are."""
    yield from (Route(own.network, own, None) for own, _ in of_ends(ends, host))
    reached = paths.shortest([_hosts(pair) for pair in ends], host, forwarding)
    for pair in ends:
        gates = [reached[end] for end in _hosts(pair) if end in forwarding and end in reached]
        if gates and host not in _hosts(pair):
            yield _along(min(gates, key=paths.cost), ends, pair[0].network)


def of_ends(ends: Ends, host: str) -> list[tuple[End, End]]:
    """Return a host's ends, each with the one at the other side of its link."""
    both_ways = (pair for (one, other) in ends for pair in ((one, other), (other, one)))
    return [(own, far) for own, far in both_ways if own.host == host]


def _along(path: Path, ends: Ends, network: str) -> Route:
    link, way = path[0]
    return Route(network, ends[link][way], ends[link][1 - way])


def _hosts(pair: tuple[End, End]) -> tuple[str, str]:
    return pair[0].host, pair[1].host
