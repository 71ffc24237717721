"""Routes: how every host reaches every link's network; pure.

A host without a role is a router: it forwards what is not its own. No other host does, so nothing
passes a host that takes part. A network is reached by the shortest way to an end of it that
forwards; where neither does, it is reached by nobody but its own two hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from httpbed.model import route as routing
from httpbed.model.route import Route
from httpbed.network.addresses import End

Ends = Sequence[tuple[End, End]]


@dataclass(frozen=True)
class Entry:
    """How a host reaches a network: a line of its routing table."""

    network: str
    """In CIDR notation."""
    own: End
    """By which of its ends packets leave, and from whose address."""
    via: End | None
    """The next hop's end; None where the network is that link's own."""


def of_host(ends: Ends, host: str, forwarding: AbstractSet[str]) -> Iterator[Entry]:
    """Find a host's routing table: first to its own networks, for there the next hops are."""
    yield from (Entry(own.network, own, None) for own, _ in of_ends(ends, host))
    reached = routing.all_from([_hosts(pair) for pair in ends], host, forwarding)
    for pair in ends:
        gates = [reached[end] for end in _hosts(pair) if end in forwarding and end in reached]
        if gates and host not in _hosts(pair):
            yield _along(min(gates, key=routing.length), ends, pair[0].network)


def of_ends(ends: Ends, host: str) -> list[tuple[End, End]]:
    """Return a host's ends, each with the one at the other side of its link."""
    both_ways = (pair for (one, other) in ends for pair in ((one, other), (other, one)))
    return [(own, far) for own, far in both_ways if own.host == host]


def _along(route: Route, ends: Ends, network: str) -> Entry:
    link, way = route[0]
    return Entry(network, ends[link][way], ends[link][1 - way])


def _hosts(pair: tuple[End, End]) -> tuple[str, str]:
    return pair[0].host, pair[1].host
