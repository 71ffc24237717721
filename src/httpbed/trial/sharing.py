"""How clients shared the network while all of them were active; from the emulator's log, pure.

A host with a role forwards nothing, so what a client's own link delivers to it is the client's.
It is active from the first packet that reaches it to the last. Outside of the time that all have in
common somebody was alone, which says nothing about sharing: rates are taken within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NS = 1e9
SHORTEST_S = 0.1
"""Less in common is no time in which a network could be shared."""


@dataclass(frozen=True)
class Sharing:
    """What each client got."""

    lasted_s: float
    """For how long all were active."""
    rates_bit_s: Mapping[str, float]
    """Bits of IP packets that were delivered to each client in a second of that time."""

    def share(self, client: str) -> float:
        """Return a client's part of what all got."""
        total = sum(self.rates_bit_s.values())
        return self.rates_bit_s[client] / total if total else 0.0


def read(log: Path, clients: Mapping[str, int]) -> Sharing | None:
    """Read an emulator's log; ``clients`` are by name, with the direction that leads to each.

    None where there is no log, or there was no time in which all were active.
    """
    if not log.exists():
        return None
    with log.open(encoding="utf-8") as lines:
        return shared(lines, clients)


def shared(lines: Iterable[str], clients: Mapping[str, int]) -> Sharing | None:
    """Measure from the lines of a log, its heading included."""
    delivered = _delivered(lines, set(clients.values()))
    flows = {name: delivered[direction] for name, direction in clients.items()}
    if not all(len(flow) for flow in flows.values()):
        return None
    begin = max(flow[0, 0] for flow in flows.values())
    end = min(flow[-1, 0] for flow in flows.values())
    lasted_s = float(end - begin) / NS
    if lasted_s < SHORTEST_S:
        return None
    rates = {}
    for name, flow in flows.items():
        inside = (flow[:, 0] > begin) & (flow[:, 0] <= end)
        rates[name] = float(flow[inside, 1].sum()) * 8 / lasted_s
    return Sharing(lasted_s, rates)


def _delivered(lines: Iterable[str], directions: set[int]) -> dict[int, NDArray[np.int64]]:
    """Return when packets left, in order, and how many bytes each had, by direction."""
    found: dict[int, list[tuple[int, int]]] = {direction: [] for direction in directions}
    iterator = iter(lines)
    names = next(iterator, "").split()
    for line in iterator:
        row = dict(zip(names, line.split(), strict=True))
        if int(row["direction"]) in directions and row["out_ns"] != "-":
            found[int(row["direction"])].append((int(row["out_ns"]), int(row["bytes"])))
    return {
        direction: np.array(sorted(rows), dtype=np.int64).reshape(-1, 2)
        for direction, rows in found.items()
    }
