"""The way between two hosts: the fewest links, through hosts that forward."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence

Route = tuple[tuple[int, int], ...]
"""Links in order, each by its index, with the direction in which it is taken: 0 is ``up``."""


def shortest(
    links: Sequence[tuple[str, str]], start: str, goal: str, forwarding: Collection[str]
) -> Route:
    """Return the way with the fewest links, of equals the one whose links come first.

    ``links`` are pairs of hosts. Only hosts in ``forwarding`` are passed through. There is no way
    where the result is empty, nor any from a host to itself.
    """
    known: dict[str, Route] = {start: ()}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == goal:
            return known[here]
        if here != start and here not in forwarding:
            continue
        for step, there in _steps(links, here):
            if there not in known:
                known[there] = (*known[here], step)
                waiting.append(there)
    return ()


def _steps(links: Sequence[tuple[str, str]], here: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield what leaves a host: a link with its direction, and where it leads."""
    for index, between in enumerate(links):
        if here in between:
            way = between.index(here)
            yield (index, way), between[1 - way]
