"""Envelopes: where a sender lies in the plane of delay and throughput, beside the kernel's.

As in Mishra and Leong, *Containing the Cambrian Explosion in QUIC Congestion Control* (IMC 2023,
QUICbench): a sender shares a bottleneck with a flow of the kernel's congestion control. Each
**epoch** of ten round trips gives a point, the mean queueing delay and the sender's throughput.
The **envelope** is the convex hull of the 95 % of the points that are nearest to their mean. The
same network with the kernel's sender in the sender's place gives the kernel's envelope.

*Conformance* is the share of both senders' points that lie in the envelope of the other.
*Conformance-T* is the largest conformance after a move of the sender's envelope; the move says
by how much its delay and throughput differ. Distances from the mean are in standard deviations, so
units do not matter. QUICbench clusters the points and has an envelope for each cluster; here a
sender has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from httpbed.addons.conformance.flight import Floats, Packets

EPOCH_ROUND_TRIPS = 10
NEAREST = 0.95
"""Share of the points, nearest to the mean, that an envelope has."""
MIN_POINTS = 10
"""Fewer show no region."""
MOVES = 41
"""Moves in each dimension that :meth:`Envelope.moved_to` tries."""
ROUNDING = 1e-9


def epochs(
    received: Packets,
    bottleneck: Packets,
    waits_s: Floats,
    rtt_s: float,
    interval_s: tuple[float, float],
) -> Floats:
    """Return a point for each epoch: mean queueing delay in ms, throughput in Mbit/s.

    Args:
        received: The packets of the sender's flow on its client's link.
        bottleneck: The packets of all flows on the shared link.
        waits_s: How long each of those waited in its queue.
        rtt_s: Its round trip.
        interval_s: Begin and end; a last epoch that is not whole is left out.
    """
    begin_s, end_s = interval_s
    lasts_s = EPOCH_ROUND_TRIPS * rtt_s
    edges = begin_s + lasts_s * np.arange(int((end_s - begin_s) / lasts_s) + 1)
    kept = ~bottleneck.lost
    waited_s = np.histogram(bottleneck.sent_s[kept], edges, weights=waits_s[kept])[0]
    count = np.histogram(bottleneck.sent_s[kept], edges)[0]
    came = ~received.lost
    sizes = np.histogram(received.left_s[came], edges, weights=received.bytes[came])[0]
    seen = count > 0
    points = (1e3 * waited_s[seen] / count[seen], sizes[seen] * 8 / lasts_s / 1e6)
    return np.column_stack(points).astype(np.float64)


@dataclass(frozen=True)
class Envelope:
    """A convex region of delay (ms) and throughput (Mbit/s), and the points in it."""

    points: Floats
    """The points that its hull encloses, a row each."""
    corners: Floats
    equations: Floats
    """Of its edges: normal and offset; negative inside."""

    def holds(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points lie within."""
        distances = points @ self.equations[:, :-1].T + self.equations[:, -1]
        return np.asarray((distances <= ROUNDING).all(axis=1))

    def conformance(self, kernel: Envelope, move: Floats | None = None) -> float:
        """Return the share of both envelopes' points that lie in the other, after a move of this.

        Args:
            kernel: The other one.
            move: Added to this one's delay and throughput; None for none.
        """
        by = np.zeros(2) if move is None else move
        common = kernel.holds(self.points + by).sum() + self.holds(kernel.points - by).sum()
        return float(common / (len(self.points) + len(kernel.points)))

    def moved_to(self, kernel: Envelope) -> Move:
        """Return the move of this envelope that has the largest conformance.

        Those tried are a grid around the distance of the means, one size of the kernel's envelope
        to each side, and no move at all.
        """
        reach = np.ptp(kernel.corners, axis=0)
        middle = kernel.points.mean(axis=0) - self.points.mean(axis=0)
        steps = np.linspace(-1, 1, MOVES)
        moves = [np.zeros(2)] + [
            middle + reach * np.array([delay, rate]) for delay in steps for rate in steps
        ]
        reached = [self.conformance(kernel, move) for move in moves]
        most = max(reached)
        # Of equally good moves, the shortest.
        good = [move for move, one in zip(moves, reached, strict=True) if one == most]
        best = min(good, key=lambda move: float(np.hypot(*(move / reach))))
        return Move(most, -float(best[0]), -float(best[1]))


@dataclass(frozen=True)
class Move:
    """How a sender's envelope differs from the kernel's."""

    conformance: float
    """Once both are moved onto each other."""
    delay_ms: float
    """By how much the sender's delay is larger."""
    throughput_mbit_s: float
    """By how much the sender's throughput is larger."""


def envelope(trials: Iterable[Floats]) -> Envelope | None:
    """Return the envelope of the points of some trials; None if they span no region."""
    every = [*trials]
    points = np.concatenate(every) if every else np.empty((0, 2))
    if len(points) < MIN_POINTS:
        return None
    spread = points.std(axis=0)
    if not spread.all():
        return None
    far = np.linalg.norm((points - points.mean(axis=0)) / spread, axis=1)
    kept = points[np.argsort(far, kind="stable")[: int(len(points) * NEAREST)]]
    try:
        hull = ConvexHull(kept)
    except QhullError:
        return None
    return Envelope(kept, kept[hull.vertices], hull.equations)
