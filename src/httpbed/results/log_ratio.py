"""Two samples compared: the logarithm of their ratio, with a margin and an error.

Reports, ``diff``, ``gate`` and ``audit`` ask this module. Each has its own margin and its own word
for a result.

A trial that timed out took longer than its limit: its value lies anywhere beyond a bound. So each
ratio lies between the lowest and the highest one that the bounds permit. A larger value in any
block can only raise the estimate. So the estimate is bracketed: every block's lowest possible ratio
gives a lower bound, and its highest an upper bound. "Above c" is tested with the lowest ratios and
"below c" with the highest, which is conservative. A trial without any valid attempt may have any
value, so its ratio lies anywhere, and no test passes on its account.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from httpbed.results import location
from httpbed.results.location import OrderStatistics
from httpbed.results.sample import FAR, Floats, Sample

_FAR_LOG = math.log(FAR) / 4
"""Log ratios beyond it come from values that were moved far away, also as an average of two."""

Located = Callable[[Mapping[int, float], Mapping[int, float]], OrderStatistics]
"""Locates the log ratio of two samples' values by block."""


EQUIVALENCE_MARGIN, EQUIVALENCE_ERROR = 0.02, 0.05
"""The margin of :func:`equivalence`, and its probability of a wrong ``same``."""
Standing = Literal["less", "more", "equal", "open"]
"""``equal``: the whole interval lies within the margin of 1. ``less``, ``more``: it excludes 1.
``open``: neither; the difference is within the noise."""


class LogRatio(NamedTuple):
    """Where the log ratio of two samples lies."""

    lowest: OrderStatistics
    at_bound: OrderStatistics
    """With the values as :meth:`Sample.presumed` has them."""
    highest: OrderStatistics

    @property
    def value(self) -> float:
        """The estimate, with the values as :meth:`Sample.presumed` has them."""
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

    def side(self, error: float) -> float:
        """Return the probability beyond each end of an interval that misses with ``error``.

        It is larger where the number of values does not permit so small an error.
        """
        return max(error / 2, self.least_p)

    def is_within(self, margin: float, side: float) -> bool:
        """Whether both ends of an interval lie within a margin of 1: two one-sided tests."""
        near = math.log1p(-margin), math.log1p(margin)
        return near[0] <= self.low(side) and self.high(side) <= near[1]

    def direction(self, side: float, margin: float = 0.0) -> Literal["less", "more", "open"]:
        """Return on which side of 1, or of a margin of it, a whole interval lies."""
        if self.high(side) < math.log1p(-margin):
            return "less"
        return "more" if self.low(side) > math.log1p(margin) else "open"

    def standing(self, margin: float, side: float) -> Standing:
        """Return what an interval settles about the difference of both samples."""
        return "equal" if self.is_within(margin, side) else self.direction(side)


def of_ratios(ratios: Floats) -> LogRatio:
    """Locate ratios that are known, by signed ranks."""
    found = location.centre(np.log(ratios))
    return LogRatio(found, found, found)


def of_pairs(sample: Sample, base: Sample, blocks: Sequence[int]) -> LogRatio:
    """Locate the ratio by signed ranks of these blocks' ratios (Wilcoxon 1945).

    All values must be positive.
    """

    def located(values: Mapping[int, float], to: Mapping[int, float]) -> OrderStatistics:
        return location.centre(np.array([math.log(values[block] / to[block]) for block in blocks]))

    return _log_ratio(sample, base, located)


def of_samples(sample: Sample, base: Sample) -> LogRatio:
    """Locate the ratio by ranks of all values (Mann and Whitney 1947).

    All values must be positive.
    """

    def located(values: Mapping[int, float], to: Mapping[int, float]) -> OrderStatistics:
        return location.shift(np.log([*values.values()]), np.log([*to.values()]))

    return _log_ratio(sample, base, located)


def of_campaigns(sample: Sample, base: Sample, same: Sequence[int]) -> tuple[LogRatio | None, int]:
    """Locate the ratio of samples of two campaigns, which ran the same trial in some blocks.

    These blocks are compared in pairs; without any, all values by ranks.

    Returns:
        The ratio, or None without values or with one that is not positive; the number of pairs.
    """
    values, to = sample.presumed(), base.presumed()
    if not values or not to or min(*values.values(), *to.values()) <= 0:
        return None, 0
    if not same:
        return of_samples(sample, base), 0
    known = values.keys() & to.keys() - (sample.censored.keys() & base.censored.keys())
    pairs = [block for block in same if block in known]
    return (of_pairs(sample, base, pairs) if pairs else None), len(pairs)


def _log_ratio(sample: Sample, base: Sample, located: Located) -> LogRatio:
    at_bound = located(sample.presumed(), base.presumed())
    if not any(one.censored or one.unknown for one in (sample, base)):
        return LogRatio(at_bound, at_bound, at_bound)
    lowest = located(sample.lowest(), base.highest())
    return LogRatio(lowest, at_bound, located(sample.highest(), base.lowest()))


@dataclass(frozen=True)
class Equivalence:
    """The ratio of paired values, and whether it is 1 within a margin."""

    n: int
    ratio: float
    """Pseudo-median of the pairs' ratios; nan without a pair."""
    low: float
    high: float
    """The 90 % interval of the ratio; open (0, inf) if there are too few pairs."""
    verdict: Literal["same", "different", "open"]


def equivalence(ratios: Floats, different_error: float = EQUIVALENCE_ERROR) -> Equivalence:
    """Judge whether ratios are 1 within 2 %.

    ``same``: the 90 % interval lies within the margin, by two one-sided tests at 5 % (Schuirmann
    1987). ``different``: the interval lies outside the margin; ``different_error`` is the
    probability of a wrong ``different``.
    """
    if not ratios.size:
        return Equivalence(0, math.nan, 0.0, math.inf, "open")
    ratio = of_ratios(ratios)
    low, high = ratio.low(EQUIVALENCE_ERROR), ratio.high(EQUIVALENCE_ERROR)
    verdict: Literal["same", "different", "open"] = "open"
    if ratio.is_within(EQUIVALENCE_MARGIN, EQUIVALENCE_ERROR):
        verdict = "same"
    elif ratio.direction(different_error / 2, EQUIVALENCE_MARGIN) != "open":
        verdict = "different"
    ends = math.exp(ratio.value), math.exp(low), math.exp(high)
    return Equivalence(int(ratios.size), *ends, verdict)
