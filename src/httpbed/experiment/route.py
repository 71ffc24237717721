"""The way between two hosts of a network.

A way is as long as it has links. Of two that have equally many, the one is longer whose highest
link that is not the other's is the higher. So no two are equally long, the way back is the way
there, and a part of a shortest way is the shortest between its ends. Hosts on a way that each look
up their own next hop therefore agree on it.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

Route = tuple[tuple[int, int], ...]
"""Links by index, each with its direction: 0 is from its first host to its second, 1 back."""


def length(route: Route) -> tuple[int, int]:
    """Say how long a way is, so that no two between the same hosts are equally long."""
    return len(route), sum(1 << link for link, _ in route)


def shortest(
    links: Sequence[tuple[str, str]],
    start: str,
    goal: str,
    forwarding: Collection[str],
    without: Collection[int] = (),
) -> Route:
    """Return the shortest way of packets; empty if there is none.

    ``links`` are the hosts that each joins; only those in ``forwarding`` are passed through, and
    links in ``without``, by their indices, are not there.
    """
    return all_from(links, start, forwarding, without).get(goal, ())


def all_from(
    links: Sequence[tuple[str, str]],
    start: str,
    forwarding: Collection[str],
    without: Collection[int] = (),
) -> dict[str, Route]:
    """Return the shortest way to every host that can be reached (Dijkstra 1959)."""
    found: dict[str, Route] = {}
    waiting: list[tuple[tuple[int, int], str, Route]] = [((0, 0), start, ())]
    while waiting:
        _, host, route = heapq.heappop(waiting)
        if host in found:
            continue
        found[host] = route
        if host != start and host not in forwarding:
            continue
        for index, between in enumerate(links):
            if host in between and index not in without:
                side = between.index(host)
                longer = (*route, (index, side))
                heapq.heappush(waiting, (length(longer), between[1 - side], longer))
    return found
