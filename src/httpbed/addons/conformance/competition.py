"""How the flows of a network share its link.

The packets of each flow's own access link give its delivered bytes, the packets of the shared link
give the queueing delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from httpbed.addons.conformance import envelope, networks
from httpbed.addons.conformance.flight import Floats, NoDataError, Packets, load_packets
from httpbed.addons.conformance.networks import Network
from httpbed.trial.fairness import jain

SETTLED_S = 5.0
"""Shares are measured from here on, when every sender's start is over."""
HOP_S = 0.001
"""More than a packet takes from the shared link to its client's."""
LAST_S = 1.0
"""Before the end of a trial, when shares are no longer measured."""


@dataclass(frozen=True)
class Split:
    """How a bottleneck was shared in an interval."""

    rates_bit_s: Sequence[float]
    """Bits per second delivered to each flow; the first is that of the sender under test."""
    queue_delay_p95_s: float | None
    """The 95th percentile of the queueing delay at the bottleneck in seconds; None: no packet."""
    lost: Sequence[float]
    """Share of the packets of each flow that were lost, from the trial's begin on."""
    lasts_s: Sequence[float]
    """Seconds from each flow's first packet to its last one."""
    epochs: Sequence[Floats] = field(default=(), compare=False)
    """Points of the envelope of each flow."""

    @property
    def jain(self) -> float:
        """Jain's index of the rates."""
        return jain(self.rates_bit_s)


@dataclass(frozen=True)
class SharedTransfer:
    """How the flows of one trial shared a network."""

    network: Network
    split: Split
    strained: bool = False
    """Whether the machine was too busy during the trial."""


def load(network: Network, log: Path) -> Split:
    """Read from its packet log how the flows of a trial shared a network, after all have settled.

    Raises:
        OSError: The log cannot be read.
        ValueError: It is not a packet log, or a flow is missing in it.
    """
    count = 1 + len(network.beside)
    directions = [networks.access(flow) for flow in range(count)]
    directions += [networks.sending(flow, count) for flow in range(count)]
    *packets, bottleneck = load_packets(log, *directions, networks.bottleneck(count))
    received, sent = packets[:count], packets[count:]
    silent = [f"flow {number}" for number, flow in enumerate(received, start=1) if not len(flow)]
    if silent:
        raise NoDataError(f"nothing was sent by {', '.join(silent)}")
    begin_s = min(float(flow.sent_s[0]) for flow in received)
    interval_s = begin_s + SETTLED_S, begin_s + network.lasts_s - LAST_S
    return split(received, bottleneck, sent=sent, network=network, interval_s=interval_s)


def split(
    received: Sequence[Packets],
    bottleneck: Packets,
    *,
    sent: Sequence[Packets],
    network: Network,
    interval_s: tuple[float, float],
) -> Split:
    """Return how the shared link was divided in an interval.

    Args:
        received: The packets of each flow on its client's link.
        bottleneck: The packets on the shared link.
        sent: The packets of each flow on its sender's link.
        network: The network of the shared link.
        interval_s: Begin and end of the interval.
    """
    begin_s, end_s = interval_s
    rates = [_delivered(flow, interval_s) * 8 / (end_s - begin_s) for flow in received]
    waits_s = bottleneck.waits_s(network.rate_bit_s, network.rtt_s / 2)
    lost = [_lost(*flow, bottleneck, end_s) for flow in zip(sent, received, strict=True)]
    lasts = [float(flow.sent_s[-1] - flow.sent_s[0]) for flow in received]
    points = [
        envelope.epochs(flow, bottleneck, waits_s, network.rtt_s, interval_s) for flow in received
    ]
    return Split(rates, _delay_p95_s(bottleneck, waits_s, interval_s), lost, lasts, points)


def _delivered(packets: Packets, interval_s: tuple[float, float]) -> int:
    inside = (packets.left_s >= interval_s[0]) & (packets.left_s < interval_s[1])
    return int(packets.bytes[inside].sum())


def _lost(sent: Packets, received: Packets, bottleneck: Packets, until_s: float) -> float:
    """Return the share of a flow's packets that were lost, of those sent until some time.

    The shared queue keeps the packets in order, so those that were sent until then have arrived
    with the last of them.
    """
    passed = bottleneck.left_s[(bottleneck.sent_s <= until_s) & ~bottleneck.lost]
    gone = np.count_nonzero(sent.left_s <= until_s)
    if not gone or not len(passed):
        return 0.0
    came = np.count_nonzero(received.sent_s <= float(passed.max()) + HOP_S)
    return max(0.0, 1 - came / gone)


def _delay_p95_s(
    bottleneck: Packets, waits_s: Floats, interval_s: tuple[float, float]
) -> float | None:
    """Return the 95th percentile of the queueing delay of what entered in an interval."""
    sent = bottleneck.sent_s
    inside = (sent >= interval_s[0]) & (sent < interval_s[1]) & ~bottleneck.lost
    waited = np.maximum(waits_s[inside], 0.0)
    return float(np.percentile(waited, 95)) if len(waited) else None
