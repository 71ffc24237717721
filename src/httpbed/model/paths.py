"""Shortest paths through a network of hosts and links.

A path is as long as it has links. Of two that have equally many, the one is longer whose highest
link that is not the other's is the higher. So no two are equally long, the path back is the path
there, and a part of a shortest path is the shortest between its ends. Hosts along a path that each
look up their own next hop therefore agree on it.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

Path = tuple[tuple[int, int], ...]
"""Links by index, each with the direction in which it is crossed: 0 is from its first host."""


def cost(path: Path) -> tuple[int, int]:
    """Say how long a path is; no two paths between the same hosts are equally long."""
    return len(path), sum(1 << link for link, _ in path)


def shortest(
    links: Sequence[tuple[str, str]], start: str, forwarding: Collection[str]
) -> dict[str, Path]:
    """Find the path to every host that can be reached from ``start``.

    Only hosts that are ``forwarding`` are passed through (Dijkstra 1959).
    """
    found: dict[str, Path] = {}
    waiting: list[tuple[tuple[int, int], str, Path]] = [((0, 0), start, ())]
    while waiting:
        _, host, path = heapq.heappop(waiting)
        if host in found:
            continue
        found[host] = path
        if host != start and host not in forwarding:
            continue
        for index, between in enumerate(links):
            if host in between:
                side = between.index(host)
                longer = (*path, (index, side))
                heapq.heappush(waiting, (cost(longer), between[1 - side], longer))
    return found
