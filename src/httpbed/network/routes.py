"""Routes: how every host reaches every link's network; pure.

A host without a role is a router: it forwards what is not its own. No other host does, so nothing
passes a host that takes part. A network is reached by the shortest way to an end of it that
forwards; where neither does, it is reached by nobody but its own two hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from httpbed.experiment import route as routing
from httpbed.experiment.route import Route
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


def of_host(
    ends: Ends, host: str, forwarding: AbstractSet[str], without: Collection[int] = ()
) -> Iterator[Entry]:
    """Find a host's routing table: first to its own networks, for there the next hops are.

    Links in ``without``, by their indices, are not taken. Their networks are reached all the same,
    from their other side.
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
    """Return a host's ends, each with the one at the other side of its link."""
    both_ways = (pair for (one, other) in ends for pair in ((one, other), (other, one)))
    return [(own, far) for own, far in both_ways if own.host == host]


def _along(route: Route, ends: Ends, network: str) -> Entry:
    link, way = route[0]
    return Entry(network, ends[link][way], ends[link][1 - way])


def hosts(pair: tuple[End, End]) -> tuple[str, str]:
    """Name the hosts that a link joins."""
    return pair[0].host, pair[1].host
