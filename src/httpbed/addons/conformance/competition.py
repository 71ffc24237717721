"""How the flows of a shared network share its link: a competition, and each of its trials.

The packets of each flow's own access link give its delivered bytes, the packets of the shared link
give the queueing delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from httpbed.addons.conformance import envelope
from httpbed.addons.conformance.flight import Floats, Packets
from httpbed.addons.conformance.networks import Beside, Network
from httpbed.addons.conformance.sender import Scale, Sender
from httpbed.experiment.impairments.queue import parse_queue_limit
from httpbed.trial.fairness import jain

QUEUES_BDP: Mapping[Scale, tuple[float, ...]] = {
    "smoke": (1,),
    "standard": (0.5, 1, 4),
    "full": (0.5, 1, 4),
}
"""Lengths of the queue, in bandwidth-delay products."""
REPLICATES: Mapping[Scale, int] = {"smoke": 1, "standard": 3, "full": 10}
RATE_BIT_S = 10_000_000
ONE_WAY_S = 0.02
TIME_LIMIT_S = 30
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
    queue_delay_s: Mapping[str, float]
    """Queueing delay at the bottleneck in seconds, by the quantiles' names: p50, p95, p99."""
    utilisation: float
    """Delivered bits divided by the bottleneck's rate."""
    lost: Sequence[float]
    """Share of the packets of each flow that were lost, from the trial's begin on."""
    lasts_s: Sequence[float]
    """Seconds from each flow's first packet to its last one."""
    epochs: Sequence[Floats] = field(default=(), compare=False)
    """Points of the envelope of each flow."""

    @property
    def shares(self) -> list[float]:
        """Each flow's share of the delivered bits."""
        total = sum(self.rates_bit_s)
        return [rate / total if total else 0.0 for rate in self.rates_bit_s]

    @property
    def jain(self) -> float:
        """Jain's index of the rates."""
        return jain(list(self.rates_bit_s))


@dataclass(frozen=True)
class SharedTransfer:
    """How the flows of one trial shared a network."""

    network: Network
    split: Split
    strained: bool = False
    """Whether the machine was too busy during the trial."""


def networks(senders: Sequence[Sender], scale: Scale) -> tuple[Network, ...]:
    """Return the networks of a competition; the first sender is the one under test."""
    beside = tuple(Beside(sender) for sender in senders[1:])
    return tuple(shared(level(length), length, beside) for length in QUEUES_BDP[scale])


def shared(
    name: str, queue_bdp: float, beside: tuple[Beside, ...], lasts_s: float = TIME_LIMIT_S
) -> Network:
    """Return a network with a queue of some bandwidth-delay products."""
    limit = parse_queue_limit(level(queue_bdp)).resolved(RATE_BIT_S, 2 * ONE_WAY_S)[1]
    return Network(name, RATE_BIT_S, 2 * ONE_WAY_S, limit, beside=beside, lasts_s=lasts_s)


def as_json(flows: Sequence[str], trials: Sequence[SharedTransfer]) -> dict[str, Any]:
    """Return the result of a competition for :func:`json.dumps`."""
    return {
        "flows": list(flows),
        "rate_bit_s": RATE_BIT_S,
        "rtt_s": 2 * ONE_WAY_S,
        "trials": [
            {
                "queue": trial.network.name,
                "rates_bit_s": dict(zip(flows, trial.split.rates_bit_s, strict=True)),
                "shares": dict(zip(flows, trial.split.shares, strict=True)),
                "jain": trial.split.jain,
                "queue_delay_s": dict(trial.split.queue_delay_s),
                "utilisation": trial.split.utilisation,
            }
            for trial in trials
        ],
    }


def names(senders: Sequence[Sender]) -> tuple[str, ...]:
    """Return a distinct name for each flow."""
    return tuple(
        f"{number} {sender.algorithm} {sender.implementation} H{sender.http_version}"
        for number, sender in enumerate(senders, start=1)
    )


def level(queue_bdp: float) -> str:
    """Return the name of a network by the length of its queue."""
    return f"{queue_bdp:g} BDP"


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
    used = _delivered(bottleneck, interval_s) * 8 / (end_s - begin_s) / network.rate_bit_s
    waits_s = bottleneck.waits_s(network.rate_bit_s, network.rtt_s / 2)
    lost = [_lost(*flow, bottleneck, end_s) for flow in zip(sent, received, strict=True)]
    lasts = [float(flow.sent_s[-1] - flow.sent_s[0]) for flow in received]
    points = [
        envelope.epochs(flow, bottleneck, waits_s, network.rtt_s, interval_s) for flow in received
    ]
    return Split(rates, _waits(bottleneck, waits_s, interval_s), used, lost, lasts, points)


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


def _waits(
    bottleneck: Packets, waits_s: Floats, interval_s: tuple[float, float]
) -> dict[str, float]:
    """Return the quantiles of the queueing delay of what entered in an interval."""
    sent = bottleneck.sent_s
    inside = (sent >= interval_s[0]) & (sent < interval_s[1]) & ~bottleneck.lost
    waited = waits_s[inside]
    if not len(waited):
        return {}
    levels = (50, 95, 99)
    quantiles = np.percentile(np.maximum(waited, 0.0), levels)
    return {f"p{level}": float(value) for level, value in zip(levels, quantiles, strict=True)}
