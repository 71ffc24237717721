"""A sender's fingerprint: how its window is distributed, and grows, in three small networks.

A congestion control is a rule for the window after a loss, between losses, and when the delay
grows. Each network lets some of the rules show:

==========  ===========================================================================
``brim``    a drop-tail queue of one bandwidth-delay product (BDP): the window after a
            full queue (Reno halves it, CUBIC keeps 0.7, BIC 0.8, Westwood the BDP that it
            has measured) and its growth to the next (a straight line, a cubic curve,
            BIC's binary search, H-TCP's square); BBR and Vegas do not fill it
``sparse``  one packet of 350 is lost, and the queue stays empty: a loss that says nothing of
            the queue, to which Westwood and BBR hardly react; H-TCP's back-off depends on
            how far the round trip varies, here little and in the other networks much
``longer``  a deep queue, and after 20 s the round trip doubles: Vegas takes the longer path
            for its own queue and shrinks; BBR finds the new round trip within 10 s
==========  ===========================================================================

The rates are low and the round trips long, because CUBIC, BIC and H-TCP grow by the clock: at
these they differ from Reno at windows of 20 to 50 packets, below the 64 kB at which buffers
hold many programs. BBR's probes show as a wide growth.

**What is compared** depends little on the phase, on the packets' size, and on the start, in which
stacks differ for seconds. A fingerprint has, of each network, two rows of quantiles over time: of
the window (logarithm to base 2 of its share of what path and queue hold; in ``sparse``, where
losses count packets, of its packets), and of its growth in a round trip (in packets, large ones by
their logarithm). The distance of two fingerprints is the mean difference of their quantiles, which
is Wasserstein's distance of the distributions, averaged. It is about 1 if windows and growth differ
by a factor of two.

The idea is that of bytes in flight behind one's own bottleneck (Mishra et al., *Keeping an eye on
congestion control in the wild with Nebby*, SIGCOMM 2024) and of the nearest reference with a bound
for the unknown (Ware et al., *CCAnalyzer*, SIGCOMM 2024, which aligns queue occupancy over time).
That windows after losses and under longer delays tell algorithms apart is older: Yang et al.,
*TCP congestion avoidance algorithm identification* (CAAI), IEEE/ACM ToN 22(4), 2014; Mishra et al.,
*The great Internet TCP congestion control census* (Gordon), SIGMETRICS 2019.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.conformance.flight import Flight, Floats
from httpbed.addons.conformance.networks import DEEP_PACKETS, Network, bdp_packets
from httpbed.addons.conformance.properties import SenderTransfer
from httpbed.experiment.impairments.rate import MTU_BYTES

LASTS_S = 45.0
LONGER_S = 20.0
"""When the round trip doubles."""
SETTLED_S = 10.0
"""The start, with its rounds of losses, is over."""
ADAPTED_S = 2.0
"""After a change of the round trip, until it shows."""
END_S = 1.0
"""A transfer that ends earlier before the network does is too short."""
FIRST_LOST = 60
"""Ends slow start below the BDP."""
SPARSE_RATES = 2.5
"""Rate of the network with sparse losses, in that of the others: its queue stays empty."""
JITTER = "1 ms"
"""Makes trials of different seeds differ."""
LEVELS = np.arange(0.05, 1.0, 0.1)
"""Of the quantiles."""
STEP_S = 0.5
"""Between the points of a curve that is drawn."""


@dataclass(frozen=True)
class Conditions:
    """What the three networks have in common."""

    rate_bit_s: int = 1_200_000
    rtt_s: float = 0.2
    every: int = 350
    """One packet of so many is lost in ``sparse``."""

    def networks(self) -> tuple[Network, ...]:
        """Return the networks of a fingerprint."""
        bdp = bdp_packets(self.rate_bit_s, self.rtt_s)
        fast = round(self.rate_bit_s * SPARSE_RATES)
        carried = round(fast * LASTS_S / 8 / MTU_BYTES)
        lost = (FIRST_LOST, *range(self.every, carried, self.every))
        jitter = {"jitter": JITTER}
        change = {"at": f"{LONGER_S:g} s", "delay": f"{self.rtt_s * 500:g} ms"}

        def named(name: str, rate_bit_s: int, rtt_s: float, queue: int, title: str) -> Network:
            more = jitter | ({"schedule": [change]} if name == "longer" else {})
            gone = lost if name == "sparse" else ()
            return Network(
                name, rate_bit_s, rtt_s, queue, lost=gone, more=more, title=title, lasts_s=LASTS_S
            )

        return (
            named("brim", self.rate_bit_s, self.rtt_s, bdp, "a queue of one BDP"),
            named("sparse", fast, self.rtt_s, DEEP_PACKETS, f"one packet of {self.every} lost"),
            named(
                "longer",
                self.rate_bit_s,
                self.rtt_s / 2,
                2 * bdp,
                f"twice the round trip after {LONGER_S:g} s",
            ),
        )


BEGIN_S: Mapping[str, float] = {
    "brim": SETTLED_S,
    "sparse": SETTLED_S,
    "longer": LONGER_S + ADAPTED_S,
}
"""The networks, each with the time from which on it is looked at."""


@dataclass(frozen=True)
class Fingerprint:
    """The quantiles of a sender's windows and of their growth, by network.

    Each is an array of two rows: windows and growth, at :data:`LEVELS`.
    """

    networks: Mapping[str, Floats]

    def alone_in(self, network: str) -> Fingerprint:
        """Return the part of one network; empty if that could not be seen."""
        return Fingerprint({name: rows for name, rows in self.networks.items() if name == network})

    def distance(self, other: Fingerprint) -> float:
        """Return the mean distance of the distributions; infinite if they share no network."""
        common = [name for name in self.networks if name in other.networks]
        far = [np.abs(self.networks[name] - other.networks[name]).mean() for name in common]
        return float(np.mean(far)) if far else math.inf

    def is_whole(self) -> bool:
        """Whether every network could be seen."""
        return set(self.networks) == set(BEGIN_S)


def fingerprint(transfers: Sequence[SenderTransfer]) -> Fingerprint:
    """Return the fingerprint of a transfer in each network, without those that end too early."""
    seen = {transfer.network.name: _quantiles(transfer) for transfer in transfers}
    return Fingerprint({name: rows for name, rows in seen.items() if rows is not None})


def _quantiles(transfer: SenderTransfer) -> Floats | None:
    flight = transfer.flight
    begin_s = BEGIN_S[transfer.network.name] - flight.request_delay_s
    end_s = LASTS_S - END_S - flight.request_delay_s
    if flight.lasts_s < end_s - END_S:
        return None
    windows, growth = window_curve(flight, np.arange(begin_s, end_s, transfer.network.rtt_s))
    unit = 1.0 if transfer.network.lost else transfer.pipe.holds
    relative = np.log2(np.maximum(windows, 1.0) / unit)
    flattened = np.sign(growth) * np.log2(1.0 + np.abs(growth))
    return np.array([np.quantile(column, LEVELS) for column in (relative, flattened)])


def window_curve(flight: Flight, at_s: Floats) -> tuple[Floats, Floats]:
    """Return the windows at these times, and by how many packets they grow in a round trip."""
    begin_s, windows = np.array([one.begin_s for one in flight.rounds]), flight.windows
    growth = np.gradient(windows) if len(windows) > 1 else np.zeros(len(windows))
    place = np.maximum(np.searchsorted(begin_s, at_s, side="right") - 1, 0)
    return windows[place], growth[place]


def drawn(transfers: Sequence[SenderTransfer]) -> Iterator[tuple[str, Floats]]:
    """Yield each network with the window every :data:`STEP_S`, in full packets."""
    for transfer in transfers:
        at_s = np.arange(0.0, min(LASTS_S, transfer.flight.lasts_s), STEP_S)
        yield transfer.network.name, window_curve(transfer.flight, at_s)[0]
