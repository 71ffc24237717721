"""Where the hosts of a topology are drawn: in columns by their distance from a client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence


def places(
    hosts: Sequence[str], links: Sequence[tuple[str, str]], clients: Sequence[str]
) -> dict[str, tuple[int, float]]:
    """Return each host's column, and its row in it; shorter columns stand in the middle.

    ``clients`` are in the first column, or the first host where there is none.
    """
    columns = _distances(hosts, links, clients or hosts[:1])
    sizes = Counter(columns.values())
    tallest = max(sizes.values(), default=0)
    found, used = dict[str, tuple[int, float]](), Counter[int]()
    for host in hosts:
        column = columns[host]
        found[host] = column, used[column] + (tallest - sizes[column]) / 2
        used[column] += 1
    return found


def _distances(
    hosts: Sequence[str], links: Sequence[tuple[str, str]], starts: Sequence[str]
) -> dict[str, int]:
    """Count the links from the nearest start to each host."""
    found, waiting = dict.fromkeys(starts, 0), list(starts)
    while waiting:
        here = waiting.pop(0)
        for there in _neighbours(here, links):
            if there not in found:
                found[there] = found[here] + 1
                waiting.append(there)
    return {host: found.get(host, 0) for host in hosts}


def _neighbours(host: str, links: Sequence[tuple[str, str]]) -> Iterator[str]:
    for one, other in links:
        if host in {one, other}:
            yield other if one == host else one
