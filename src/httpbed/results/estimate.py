"""Estimates: the median with a nonparametric interval, the mean and the deviation beside it.

The interval runs from the k-th smallest to the k-th largest value. Each value lies below the
true median with probability one half, whatever the distribution, so the interval misses it
only when fewer than k values fall on one side: a binomial probability (Conover, Practical
Nonparametric Statistics, 3.2). With fewer than six values even the smallest and the largest
cover less than 95 %; then they are given with what they do cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from httpbed.experiment.experiment import Replicates
from httpbed.experiment.metric import Side
from httpbed.results.location import Signs
from httpbed.results.sample import Bounded, Floats, Sample, between

CONFIDENCE = 0.95
MIN_VALUES = math.ceil(1 - math.log2(1 - CONFIDENCE))
"""Fewest values whose range covers ``CONFIDENCE``: n values cover 1 - 2^(1-n)."""


@dataclass(frozen=True)
class Interval:
    """An interval for the true value, with its coverage."""

    low: Bounded
    high: Bounded
    coverage: float
    """The probability; 0.95, or what so few values can reach at most."""

    @property
    def reaches_confidence(self) -> bool:
        """Whether it covers 95 %."""
        return self.coverage >= CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """Median, mean and spread of a sample."""

    n: int
    median: Bounded
    interval: Interval | None
    """Interval of the median; None for a single value."""
    mean: float | None
    """Mean of the values that are known; None when none is."""
    deviation: float | None
    """Sample standard deviation of those; None for fewer than two."""
    left_out: int
    """Number of censored and unknown values, which the mean and the deviation lack."""

    def values(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`, unrounded; censored figures carry ``beyond``."""
        return {
            "n": self.n,
            "median": asdict(self.median),
            "interval": self.interval and asdict(self.interval),
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "left_out_of_mean": self.left_out,
        }


def estimate(sample: Sample) -> Estimate | None:
    """Estimate a treatment's median and mean; None if no value is known."""
    if not sample.n:
        return None
    known = np.array(list(sample.observed.values()))
    parts = (sample.lowest(), sample.presumed(), sample.highest())
    lowest, values, highest = (np.array([*part.values()]) for part in parts)
    return Estimate(
        n=sample.n,
        median=between(*(float(np.median(part)) for part in (lowest, values, highest))),
        interval=median_interval(values, lowest, highest),
        mean=float(known.mean()) if known.size else None,
        deviation=float(known.std(ddof=1)) if known.size > 1 else None,
        left_out=len(sample.censored) + len(sample.unknown),
    )


def median_interval(
    values: Floats, lowest: Floats | None = None, highest: Floats | None = None
) -> Interval | None:
    """Interval of the median by order statistics.

    ``lowest`` and ``highest`` are the values as :class:`Sample` moves them; without them, all are
    known.
    """
    if values.size < 2:  # one value has no spread
        return None
    rank, coverage = ranks(values.size)
    parts = [values if one is None else one for one in (lowest, values, highest)]
    ordered = [[float(value) for value in np.sort(part)] for part in parts]
    return Interval(
        low=interval_end([part[rank - 1] for part in ordered], "<"),
        high=interval_end([part[-rank] for part in ordered], ">"),
        coverage=coverage,
    )


def interval_end(ends: Sequence[float], outwards: Side) -> Bounded:
    """Return an end of an interval, which censored and unknown values may leave open.

    Args:
        ends: That of the lowest values, of the presumed ones, and of the highest.
        outwards: The side on which the interval grows.
    """
    found = between(*ends)
    return Bounded(found.value, outwards) if found.beyond == "?" else found


def ranks(n: int) -> tuple[int, float]:
    """Return the rank k of the interval's ends among ``n`` values, and its coverage.

    The largest k that still covers 95 %, or 1 when none does.
    """
    fewer = Signs(n).cdf
    rank = max(1, next(k for k in range(n) if fewer(k) >= (1 - CONFIDENCE) / 2))
    return rank, 1 - 2 * fewer(rank - 1)


MISSED = 0.07
"""Bound on the share of intervals that missed, in simulations of lognormal times."""


def is_settled(sample: Sample, rule: Replicates) -> bool:
    """Whether a treatment gets no further block: the interval of its median is narrow enough.

    The interval is examined after each block, so a treatment stops at a block where its interval
    happens to be narrow. Such an interval misses the true median more often than 5 %: in up to 7 %
    of simulated treatments (``docs/measurements/campaigns.md``). The rule does not look at other
    treatments, so comparisons keep their error rate.
    """
    estimated = estimate(sample)
    if sample.tally.recorded < rule.min or estimated is None or estimated.interval is None:
        return False
    interval = estimated.interval
    if not interval.reaches_confidence or interval.low.beyond or interval.high.beyond:
        return False
    half = (interval.high.value - interval.low.value) / 2
    return half <= rule.width * abs(estimated.median.value)
