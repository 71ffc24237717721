"""The networks in which a sender is looked at, each of which answers some of the questions.

All have one shaped link. A transfer is as long as the time limit allows, whatever the sender's
rate: the client is then stopped, and what is read is the emulator's log.

=========  ==========================================================================
``start``  a large bandwidth-delay product and a deep queue: the first flights undisturbed,
           and who fills a deep queue
``loss``   the same, and exactly two packets lost: one to end slow start early, one much
           later, in congestion avoidance
``brim``   a queue of one bandwidth-delay product: who fills it, and how far
the grid   independent loss: throughput against the models of the literature
=========  ==========================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from httpbed.analysis.sender.behaviour import Pipe
from httpbed.experiment.impairments.rate import MTU_BYTES
from httpbed.experiment.sender import Scale
from httpbed.studies.conformance.sender import BBR, Control

TIME_LIMIT_S = 16
SIZE = "100 MB"
"""More than the fastest link carries in that time."""
FAST_BIT_S, SLOW_BIT_S = 40_000_000, 10_000_000
LONG_RTT_S, SHORT_RTT_S = 0.1, 0.04
DEEP_PACKETS = 1000
FIRST_LOST = 60
"""In the third flight of a sender that begins with 10 and doubles: 10 + 20 + 40. Its window is
then small enough to grow for the rest of the time without filling the link."""
SECOND_LOST = 4000
"""About 6 s later at the windows that follow, of Reno or CUBIC."""
SECOND_LOST_BBR = 16000
"""BBR fills the link, so this is after 5 s, and its start is over."""
STEADY_S = 3.0
"""From here on a transfer with losses is in its steady state: CUBIC needs that long to come down
from a window of hundreds at 1 % loss."""

GRID: dict[Scale, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "smoke": ((0.005, 0.04), (0.05,)),
    "standard": ((0.005, 0.01, 0.02, 0.04), (0.02, 0.05, 0.1)),
    "full": ((0.005, 0.01, 0.02, 0.04), (0.02, 0.05, 0.1)),
}
"""Losses and round trips in s, crossed. The rate of the models stays below the link's in each."""
REPLICATES: dict[Scale, int] = {"smoke": 1, "standard": 1, "full": 5}


@dataclass(frozen=True)
class Network:
    """A network, by the name of its level."""

    name: str
    rate_bit_s: int
    rtt_s: float
    queue_packets: int
    loss: float = 0.0
    lost: tuple[int, ...] = ()
    """Numbers of the packets towards the client that are lost, and no others."""

    def pipe(self, full_bytes: int) -> Pipe:
        """Say what it holds of packets of this size."""
        return Pipe(self.rate_bit_s / 8 / full_bytes, self.rtt_s, self.queue_packets)

    def link(self) -> str:
        """Write what differs between the networks, as TOML; losses are the sender's alone."""
        loss = ""
        if self.lost:
            loss = f", down = {{ loss = {{ packets = {list(self.lost)} }} }}"
        elif self.loss:
            loss = f', down = {{ loss = "{self.loss * 100:g} %" }}'
        return (
            f'rate = "{self.rate_bit_s} bit/s", delay = "{self.rtt_s * 500:g} ms",'
            f' queue = {{ limit = "{self.queue_packets} packets" }}{loss}'
        )


def networks(scale: Scale, control: Control) -> tuple[Network, ...]:
    """List the networks of a scale for a sender that is judged as ``control``."""
    second = SECOND_LOST_BBR if control in BBR else SECOND_LOST
    queue = math.ceil(SLOW_BIT_S * SHORT_RTT_S / 8 / MTU_BYTES)
    return (
        Network("start", FAST_BIT_S, LONG_RTT_S, DEEP_PACKETS),
        Network("loss", FAST_BIT_S, LONG_RTT_S, DEEP_PACKETS, lost=(FIRST_LOST, second)),
        Network("brim", SLOW_BIT_S, SHORT_RTT_S, queue),
        *grid(scale),
    )


def grid(scale: Scale) -> tuple[Network, ...]:
    """List the networks with independent loss."""
    losses, rtts_s = GRID[scale]
    return tuple(
        Network(f"{loss * 100:g} %, {rtt_s * 1e3:g} ms", FAST_BIT_S, rtt_s, DEEP_PACKETS, loss)
        for rtt_s in rtts_s
        for loss in losses
    )
