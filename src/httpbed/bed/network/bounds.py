"""Bounds of a link: the most bytes in a window, the least delay, the least transmission time.

Each bound is computed from the topology alone, not from the emulator's configuration. A direction
with a burst ``b`` and a rate ``r(t)`` lets at most ``b`` and the integral of ``r`` over a window
pass (arrival curves: Cruz, IEEE Trans. Inf. Theory 37, 1991; Le Boudec and Thiran, *Network
Calculus*, 2001, section 1.2). The window must begin no later than the packets' arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from httpbed.base.clock import NS
from httpbed.bed.machine.backend import Backend
from httpbed.bed.network import kernel
from httpbed.experiment.impairments.delay import Distributed, Jitter, Samples
from httpbed.experiment.impairments.rate import Steps, TokenBucket
from httpbed.experiment.topology import Direction, Link

NORMAL_REACH = 8.573
"""The largest distance of a normal draw from the mean, in standard deviations: Box and Muller's
formula gives sqrt(-2 ln 2^-53) = 8.572 for a uniform draw of 53 bits."""
PARETO_LEAST = -0.5 / (0.75**0.5)
"""The least of a Pareto distribution of shape 3, shifted to mean 0 and scaled to deviation 1."""

RateChanges = Sequence[tuple[float, int]]
"""Seconds since the client's start, ascending, and the rate from then on in bit/s."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of one direction of a link."""

    link: Link
    direction: int
    """0: from the link's first host to its second; 1: back."""
    backend: Backend = "af_packet"

    @property
    def described(self) -> Direction:
        """The direction as the experiment describes it."""
        return self.link.directions()[self.direction]

    def highest_bit_s(self) -> int | None:
        """Return the highest rate of the direction; None without a rate or with a trace."""
        if not isinstance(self.described.rate, (int, TokenBucket, Steps)):
            return None
        return max(self.link.rates(self.direction))

    def burst_bytes(self) -> int:
        """Return the bytes that may pass beyond the rate."""
        if self.backend == "tbf":
            return kernel.burst_bytes(self.described)
        return self.described.rate.burst if isinstance(self.described.rate, TokenBucket) else 0

    def least_delay_s(self) -> float:
        """Return the least seconds from transmission to arrival."""
        least = min(self.link.delays(self.direction)) + least_jitter_s(self.described.jitter)
        return max(0.0, least)

    def least_transmission_s(self, size: int) -> float:
        """Return the least transmission time of ``size`` bytes in seconds; 0 if it is unknown."""
        rate = self.highest_bit_s()
        return max(0, size - self.burst_bytes()) * 8 / rate if rate else 0.0

    def most_bytes(self, from_s: float, to_s: float, changes: RateChanges) -> float | None:
        """Return the most bytes that can pass in a window; None without :meth:`highest_bit_s`.

        Times are seconds since the client's start; ``changes`` are the changes that were made. None
        of them can raise the rate above what the experiment allows.
        """
        highest = self.highest_bit_s()
        if highest is None:
            return None
        steps = [(float("-inf"), self.described.first_bit_s() or highest), *changes]
        ends = [*(at for at, _ in steps[1:]), float("inf")]
        bits = sum(
            min(rate, highest) * max(0.0, min(end, to_s) - max(begin, from_s))
            for (begin, rate), end in zip(steps, ends, strict=True)
        )
        return self.burst_bytes() + bits / 8

    def rounding_bytes(self) -> float:
        """Return the tolerance for rounding: one byte, and 1 ns at the highest rate."""
        return 1 + (self.highest_bit_s() or 0) / NS / 8


def least_jitter_s(jitter: Jitter | None) -> float:
    """Return the least that jitter adds to a delay, in seconds; at most 0."""
    if isinstance(jitter, Samples):
        return min(0.0, *jitter.samples)
    if isinstance(jitter, Distributed):
        reach = {"uniform": -1.0, "normal": -NORMAL_REACH, "pareto": PARETO_LEAST}
        return reach[jitter.distribution] * jitter.spread
    return -(jitter or 0.0)
