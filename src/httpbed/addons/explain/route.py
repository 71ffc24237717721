"""Packets along the links of a path: which packet of a link is which one of the link before.

Each link numbers its packets as they arrive, and routers forward all of them in the order in which
they come. So the n-th packet that leaves a link is the n-th one that enters the next. That is
checked by sizes; it fails where packets join or leave the path between two links.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.explain.transfer import Numbers
from httpbed.store.packet_log import PacketLog


class DifferentPacketsError(ValueError):
    """Two links next to each other carry different packets."""


@dataclass(frozen=True)
class Route:
    """The packets of the links of a path, in the order in which they travel."""

    rows: tuple[PacketLog, ...]
    places: tuple[Numbers, ...]
    """For each packet of the first link, its row on each link; -1 where it never came."""

    def entered(self, link: int) -> Numbers:
        """Return when each packet entered a link; -1 where it never came."""
        return self._times(link, self.rows[link].in_ns)

    def left(self, link: int) -> Numbers:
        """Return when each packet left a link; -1 where it did not."""
        return self._times(link, self.rows[link].out_ns)

    def on(self, link: int, values: Numbers) -> Numbers:
        """Return a link's values for each packet of the first link; -1 where it never came."""
        return self._times(link, values)

    def _times(self, link: int, values: Numbers) -> Numbers:
        places = self.places[link]
        found = np.full(len(places), -1, dtype=np.int64)
        came = places >= 0
        found[came] = values[places[came]]
        return found


def along(rows: Sequence[PacketLog]) -> Route:
    """Follow the packets of the first link.

    :raises DifferentPacketsError: when packets join or leave between two links.
    """
    places = [np.arange(len(rows[0]))]
    for before, after in itertools.pairwise(rows):
        left = np.flatnonzero(before.out_ns >= 0)
        left = left[np.argsort(before.out_ns[left], kind="stable")]
        arriving = np.argsort(after.in_ns, kind="stable")
        count = len(arriving)
        if count > len(left) or (before.bytes[left[:count]] != after.bytes[arriving]).any():
            raise DifferentPacketsError
        following = np.full(len(before), -1, dtype=np.int64)
        following[left[:count]] = arriving
        last = places[-1]
        places.append(np.where(last >= 0, following[last], -1) if len(before) else last)
    return Route(tuple(rows), tuple(places))
