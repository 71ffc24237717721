"""Routes: how every host reaches every link's network.

A host without a role is a router: it forwards packets for others. Hosts with a role do not forward,
so no path leads through them. A network is reached by the shortest path to an end of it that
forwards; if neither end does, only its own two hosts reach it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from httpbed.bed.network.addresses import End
from httpbed.experiment import route as routing
from httpbed.experiment.route import Route

Ends = Sequence[tuple[End, End]]


@dataclass(frozen=True)
class Entry:
    """A line of a host's routing table: how it reaches a network."""

    network: str
    """In CIDR notation."""
    own: End
    """The end by which packets leave, and whose address they have."""
    via: End | None
    """The next hop's end; None if the network is that link's own."""


def of_host(
    ends: Ends, host: str, forwarding: AbstractSet[str], without: Collection[int] = ()
) -> Iterator[Entry]:
    """Return a host's routing table, beginning with its own networks, which have the next hops.

    Links with an index in ``without`` are not used. Their networks are reached from their other
    side.
    """
    near = {index for index, pair in enumerate(ends) if host in hosts(pair)} - set(without)
    for index in sorted(near):
        own = ends[index][hosts(ends[index]).index(host)]
        yield Entry(own.network, own, None)
    reached = routing.all_from([hosts(pair) for pair in ends], host, forwarding, without)
    gates_of = forwarding & (reached.keys() - {host})
    for index, pair in enumerate(ends):
        gates = [reached[end] for end in hosts(pair) if end in gates_of]
        if gates and index not in near:
            yield _along(min(gates, key=routing.length), ends, pair[0].network)


def of_ends(ends: Ends, host: str) -> list[tuple[End, End]]:
    """Return a host's ends, each with the end at the other side of its link."""
    both_ways = (pair for (one, other) in ends for pair in ((one, other), (other, one)))
    return [(own, far) for own, far in both_ways if own.host == host]


def _along(route: Route, ends: Ends, network: str) -> Entry:
    link, way = route[0]
    return Entry(network, ends[link][way], ends[link][1 - way])


def hosts(pair: tuple[End, End]) -> tuple[str, str]:
    """Name the hosts that a link joins."""
    return pair[0].host, pair[1].host
