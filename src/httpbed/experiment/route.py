"""Shortest routes between hosts of a network.

The length of a route is its number of links. A tie between two routes is decided by the highest
link index that only one of them has: that route is longer. So no two routes have equal length, the
return route is the reverse of the route, and each part of a shortest route is itself shortest.
Hosts that look up their next hop independently therefore agree on the route.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

Route = tuple[tuple[int, int], ...]
"""Links by index, each with its direction: 0 from its first host to its second, 1 back."""


def length(route: Route) -> tuple[int, int]:
    """Return a route's length, which differs for any two routes between the same hosts."""
    return len(route), sum(1 << link for link, _ in route)


def shortest(
    links: Sequence[tuple[str, str]],
    start: str,
    goal: str,
    forwarding: Collection[str],
    without: Collection[int] = (),
) -> Route:
    """Return the shortest route; empty if there is none.

    Args:
        links: The two hosts of each link.
        start: The host where the route begins.
        goal: The host where the route ends.
        forwarding: The hosts that forward packets.
        without: Indices of links that the route must not use.
    """
    return all_from(links, start, forwarding, without).get(goal, ())


def all_from(
    links: Sequence[tuple[str, str]],
    start: str,
    forwarding: Collection[str],
    without: Collection[int] = (),
) -> dict[str, Route]:
    """Return the shortest route to every reachable host (Dijkstra 1959)."""
    routes: dict[str, Route] = {}
    waiting: list[tuple[tuple[int, int], str, Route]] = [((0, 0), start, ())]
    while waiting:
        _, host, route = heapq.heappop(waiting)
        if host in routes:
            continue
        routes[host] = route
        if host != start and host not in forwarding:
            continue
        for index, between in enumerate(links):
            if host in between and index not in without:
                side = between.index(host)
                longer = (*route, (index, side))
                heapq.heappush(waiting, (length(longer), between[1 - side], longer))
    return routes
