"""The logarithm of the ratio of two samples, in which censored values are only bounds.

A trial that timed out took longer than its limit: its value lies anywhere beyond a bound. So each
ratio lies between the lowest and the highest one that the bounds permit. The location of the ratio
rises with every ratio. So it lies between the location of the lowest ratios and that of the
highest, and what both say is certain: evidence that the ratio is above something is that of the
lowest ratios, evidence that it is below is that of the highest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from httpbed.results import location
from httpbed.results.location import OrderStatistics
from httpbed.results.sample import FAR, Floats, Sample

_FAR_LOG = math.log(FAR) / 4
"""Log ratios beyond it come from values that were moved far away, also as an average of two."""

Located = Callable[[Mapping[int, float], Mapping[int, float]], OrderStatistics]
"""Locates the log ratio of two samples' values by block."""


class LogRatio(NamedTuple):
    """Where the log ratio of two samples lies."""

    lowest: OrderStatistics
    at_bound: OrderStatistics
    """With censored values at their bounds."""
    highest: OrderStatistics

    @property
    def value(self) -> float:
        """The estimate, with censored values at their bounds."""
        return self.at_bound.value

    def p_above(self, c: float) -> float:
        """Return the p-value against a log ratio of at most c."""
        return self.lowest.p_above(c)

    def p_below(self, c: float) -> float:
        """Return the p-value against a log ratio of at least c."""
        return self.highest.p_below(c)

    def low(self, side: float) -> float:
        """Return the number below which it lies with probability ``side`` at most, or -inf."""
        low = self.lowest.low(side)
        return low if low > -_FAR_LOG else -math.inf

    def high(self, side: float) -> float:
        """Return the number above which it lies with probability ``side`` at most, or inf."""
        high = self.highest.high(side)
        return high if high < _FAR_LOG else math.inf

    @property
    def least_p(self) -> float:
        """The smallest p-value that the number of values permits."""
        return self.lowest.least_p


def of_ratios(ratios: Floats) -> LogRatio:
    """Locate ratios that are known, by signed ranks."""
    found = location.centre(np.log(ratios))
    return LogRatio(found, found, found)


def of_pairs(sample: Sample, base: Sample, blocks: Sequence[int]) -> LogRatio:
    """Locate the ratio by signed ranks of these blocks' ratios (Wilcoxon 1945).

    All values must be positive.
    """

    def located(values: Mapping[int, float], to: Mapping[int, float]) -> OrderStatistics:
        return location.centre(np.array([math.log(values[one] / to[one]) for one in blocks]))

    return _log_ratio(sample, base, located)


def of_samples(sample: Sample, base: Sample) -> LogRatio:
    """Locate the ratio by ranks of all values (Mann and Whitney 1947).

    All values must be positive.
    """

    def located(values: Mapping[int, float], to: Mapping[int, float]) -> OrderStatistics:
        return location.shift(np.log([*values.values()]), np.log([*to.values()]))

    return _log_ratio(sample, base, located)


def _log_ratio(sample: Sample, base: Sample, located: Located) -> LogRatio:
    at_bound = located(sample.at_bound(), base.at_bound())
    if not sample.censored and not base.censored:
        return LogRatio(at_bound, at_bound, at_bound)
    lowest = located(sample.lowest(), base.highest())
    return LogRatio(lowest, at_bound, located(sample.highest(), base.lowest()))
