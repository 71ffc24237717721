"""Several flows on one bottleneck: their shares, the queueing delay and the utilisation.

The packets of each flow's own access link give its delivered bytes, the packets of the bottleneck
give the queueing delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from httpbed.addons.conformance.packets import Packets
from httpbed.results.fairness import jain


@dataclass(frozen=True)
class Split:
    """How a bottleneck was shared in an interval."""

    rates_bit_s: Mapping[str, float]
    """Bits per second delivered to each flow, by its name."""
    queue_delay_s: Mapping[str, float]
    """Queueing delay at the bottleneck in seconds, by the quantiles' names: p50, p95, p99."""
    utilisation: float
    """Delivered bits divided by the bottleneck's rate."""

    @property
    def shares(self) -> dict[str, float]:
        """Each flow's share of the delivered bits."""
        total = sum(self.rates_bit_s.values())
        return {name: rate / total if total else 0.0 for name, rate in self.rates_bit_s.items()}

    @property
    def jain(self) -> float:
        """Jain's index of the rates."""
        return jain(list(self.rates_bit_s.values()))


def split(
    flows: Mapping[str, Packets],
    bottleneck: Packets,
    *,
    rate_bit_s: float,
    delay_s: float,
    interval_s: tuple[float, float],
) -> Split:
    """Return how the bottleneck was shared in an interval in which all flows were sending."""
    begin_s, end_s = interval_s
    rates = {
        name: _delivered(packets, interval_s) * 8 / (end_s - begin_s)
        for name, packets in flows.items()
    }
    used = _delivered(bottleneck, interval_s) * 8 / (end_s - begin_s) / rate_bit_s
    return Split(rates, _waits(bottleneck, rate_bit_s, delay_s, interval_s), used)


def _delivered(packets: Packets, interval_s: tuple[float, float]) -> int:
    inside = (packets.left_s >= interval_s[0]) & (packets.left_s < interval_s[1])
    return int(packets.bytes[inside].sum())


def _waits(
    bottleneck: Packets, rate_bit_s: float, delay_s: float, interval_s: tuple[float, float]
) -> dict[str, float]:
    sent, left = bottleneck.sent_s, bottleneck.left_s
    inside = (sent >= interval_s[0]) & (sent < interval_s[1]) & ~bottleneck.lost
    waited = (left - sent - delay_s - bottleneck.bytes * 8 / rate_bit_s)[inside]
    if not len(waited):
        return {}
    levels = (50, 95, 99)
    quantiles = np.percentile(np.maximum(waited, 0.0), levels)
    return {f"p{level}": float(value) for level, value in zip(levels, quantiles, strict=True)}
