"""Where the true value of a cell lies: one-sided p-values, and the intervals that invert them.

Each class answers three questions about an unknown value: how improbable are the data if it is at
most c (``p_above``), if it is at least c (``p_below``), and which values are compatible with the
data (``low``, ``high``). Sign test, signed-rank test and rank-sum test share one form: a sorted
array whose number of entries above c has a known distribution if the value is c. Its order
statistics are the ends of the interval.

=====================  ===================================  =======================================
estimate               array                                null distribution of the number above c
=====================  ===================================  =======================================
median                 the values                           binomial (Conover 1999, section 3.2)
pseudo-median          averages of all pairs of values,     Wilcoxon 1945; the interval is Tukey's
                       each value with itself too           (Hollander and Wolfe 1999, section 3.4)
shift of two samples   differences of all pairs of values   Mann and Whitney 1947; the interval is
                       of the samples                       Moses' (Hollander and Wolfe, sec. 4.3)
=====================  ===================================  =======================================
"""

from __future__ import annotations

import functools
import math
from typing import Protocol

import numpy as np
import scipy

from httpbed.results.sample import Floats

EXACT_SIGNED = 60
EXACT_SUM = 40
"""Largest samples with the exact distribution; larger ones use the normal approximation, whose
error is then below 0.001."""
SKEWED = 1.0
"""Third standardised moment beyond which values count as skewed: of five values of which one is far
from the others it is 1.5, and of ten normal ones it is larger in 9 % of samples."""
NOISE = 1e-12
"""Relative differences below this one are rounding."""
MAX_PAIRED = 2_000
"""Largest sample whose pairs are averaged."""


class NoIntervalError(Exception):
    """The data say nothing about where the value lies; the text says why."""


class Location(Protocol):
    """What data say about an unknown value."""

    n: int
    value: float

    def p_above(self, c: float) -> float:
        """Return the one-sided p-value of the hypothesis that the value is at most c."""

    def p_below(self, c: float) -> float:
        """Return the one-sided p-value of the hypothesis that the value is at least c."""

    def low(self, side: float) -> float:
        """Return the lower confidence bound that fails with probability ``side`` at most."""

    def high(self, side: float) -> float:
        """Return the upper confidence bound that fails with probability ``side`` at most."""

    @property
    def least_p(self) -> float:
        """The smallest p-value that so few blocks can give."""


class NullCounts(Protocol):
    """The distribution of the number of entries above the true value."""

    def cdf(self, count: int) -> float:
        """Return the probability of at most ``count`` entries; it is symmetric."""


class OrderStatistics:
    """A location by the order statistics of an array."""

    def __init__(self, array: Floats, null: NullCounts, value: float, n: int) -> None:
        self.value, self.n = value, n
        self._sorted, self._null = np.sort(array), null

    @property
    def least_p(self) -> float:
        """The smallest p-value: all entries on one side."""
        return self._null.cdf(0)

    def p_above(self, c: float) -> float:
        """Return the p-value against a value of at most c; entries equal to c count against it."""
        return self._null.cdf(int(np.searchsorted(self._sorted, c, side="right")))

    def p_below(self, c: float) -> float:
        """Return the p-value against a value of at least c; entries equal to c count against it."""
        at_least = self._sorted.size - int(np.searchsorted(self._sorted, c, side="left"))
        return self._null.cdf(at_least)

    def low(self, side: float) -> float:
        """Return the entry below which the value lies with probability ``side`` at most.

        With too few blocks no entry is such a bound: -inf.
        """
        return -math.inf if self.least_p > side else float(self._sorted[self._rank(side)])

    def high(self, side: float) -> float:
        """Return the entry above which the value lies with probability ``side`` at most, or inf."""
        if self.least_p > side:
            return math.inf
        return float(self._sorted[self._sorted.size - 1 - self._rank(side)])

    def _rank(self, side: float) -> int:
        """Return the largest index whose entry is a bound."""
        below, above = 0, self._sorted.size // 2
        while below < above:
            middle = (below + above + 1) // 2
            below, above = (
                (middle, above) if self._null.cdf(middle) <= side else (below, middle - 1)
            )
        return below


class Signs:
    """Binomial counts with probability one half."""

    def __init__(self, n: int) -> None:
        self._n = n

    def cdf(self, count: int) -> float:
        """Return the probability of at most ``count``."""
        if count < 0:
            return 0.0
        return float(scipy.special.bdtr(min(count, self._n), self._n, 0.5))


class Table:
    """A distribution on 0, 1, 2 ... with these probabilities."""

    def __init__(self, probabilities: Floats) -> None:
        self._cdf = np.minimum(1.0, np.cumsum(probabilities))

    def cdf(self, count: int) -> float:
        """Return the probability of at most ``count``."""
        return float(self._cdf[min(count, self._cdf.size - 1)])


class Normal:
    """The normal approximation of counts, with continuity correction."""

    def __init__(self, mean: float, variance: float) -> None:
        self._mean, self._deviation = mean, variance**0.5

    def cdf(self, count: int) -> float:
        """Return the probability of at most ``count``."""
        return float(scipy.special.ndtr((count + 0.5 - self._mean) / self._deviation))


@functools.cache
def signed_ranks(n: int) -> NullCounts:
    """Return the distribution of Wilcoxon's sum of the ranks of positive values."""
    if n > EXACT_SIGNED:
        return Normal(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24)
    chances = np.ones(1)
    for rank in range(1, n + 1):  # each rank is in the sum with probability one half
        shifted = np.concatenate([np.zeros(rank), chances])
        chances = (np.concatenate([chances, np.zeros(rank)]) + shifted) / 2
    return Table(chances)


@functools.cache
def rank_sums(n: int, m: int) -> NullCounts:
    """Return the distribution of Mann and Whitney's number of pairs above zero."""
    if max(n, m) > EXACT_SUM:
        return Normal(n * m / 2, n * m * (n + m + 1) / 12)
    # Coefficients of the product of (1 - z^(m+i)) / (1 - z^i), i = 1 ... n, over their sum.
    counts = np.zeros(n * m + 1)
    counts[0] = 1.0
    for i in range(1, n + 1):
        counts[m + i :] -= counts[: max(0, counts.size - m - i)].copy()
        for k in range(i, counts.size):
            counts[k] += counts[k - i]
    return Table(counts / counts.sum())


def median(values: Floats) -> OrderStatistics:
    """Return the location of the median of independent values."""
    return OrderStatistics(values, Signs(values.size), float(np.median(values)), values.size)


def pseudo_median(values: Floats) -> OrderStatistics:
    """Return the location of the centre of independent, symmetrically distributed values."""
    n = values.size
    if n > MAX_PAIRED:
        raise NoIntervalError(f"more than {MAX_PAIRED} blocks")
    one, other = _pairs(n)
    averages = (values[one] + values[other]) / 2
    return OrderStatistics(averages, signed_ranks(n), float(np.median(averages)), n)


_pairs = functools.cache(np.triu_indices)
"""The pairs of n values, each value with itself included."""


def centre(values: Floats) -> OrderStatistics:
    """Return the pseudo-median, or the median where values are skewed or too many for pairs.

    Signed ranks take rare large values for a shift of the centre. So many values settle all by
    their signs.
    """
    is_skewed = values.size > 2 and abs(_skewness(values)) > SKEWED
    return median(values) if is_skewed or values.size > MAX_PAIRED else pseudo_median(values)


def _skewness(values: Floats) -> float:
    """Return the third standardised moment; 0 of equal values."""
    size = float(np.abs(values).max())
    if not size:
        return 0.0
    away = values / size - np.mean(values / size)  # values may stand for infinity
    spread = float(np.sqrt(np.mean(away**2)))
    return float(np.mean(away**3)) / spread**3 if spread > NOISE else 0.0


def shift(values: Floats, base: Floats) -> OrderStatistics:
    """Return by how much independent values lie above others."""
    differences = np.subtract.outer(values, base).ravel()
    null = rank_sums(values.size, base.size)
    return OrderStatistics(
        differences, null, float(np.median(differences)), min(values.size, base.size)
    )


class Student:
    """A value with a standard error that its degrees of freedom estimate, by Student's t."""

    least_p = 0.0
    """Values far away have any small p-value."""

    def __init__(self, value: float, error: float, degrees: float, n: int) -> None:
        self.value, self.n = value, n
        self._error, self._degrees = error, degrees

    def p_above(self, c: float) -> float:
        """Return the p-value against a value of at most c."""
        return self._tail(self.value - c)

    def p_below(self, c: float) -> float:
        """Return the p-value against a value of at least c."""
        return self._tail(c - self.value)

    def low(self, side: float) -> float:
        """Return the lower confidence bound."""
        return self.value + float(scipy.special.stdtrit(self._degrees, side)) * self._error

    def high(self, side: float) -> float:
        """Return the upper confidence bound."""
        return self.value - float(scipy.special.stdtrit(self._degrees, side)) * self._error

    def _tail(self, distance: float) -> float:
        """Return the p-value of a value that lies so far beyond."""
        if not self._error:
            return float(distance <= 0)
        return float(scipy.special.stdtr(self._degrees, -distance / self._error))


def mean(values: Floats) -> Student:
    """Return the location of the mean of independent, normally distributed values."""
    n, value = values.size, float(values.mean())
    if n < 2:
        raise NoIntervalError("one block has no spread")
    error = float(values.std(ddof=1) / np.sqrt(n))
    if error <= abs(value) * 1e-12:
        raise NoIntervalError("all blocks have the same value, so a mean has no interval")
    return Student(value, error, n - 1, n)


class SuccessShare:
    """The probability of success, by the binomial distribution (Clopper and Pearson 1934)."""

    least_p = 0.0
    """Shares near 0 or 1 have any small p-value."""

    def __init__(self, successes: int, n: int) -> None:
        self.n, self.value, self._successes = n, successes / n, successes

    def p_above(self, c: float) -> float:
        """Return the p-value against a probability of at most c."""
        return float(scipy.stats.binom.sf(self._successes - 1, self.n, min(1.0, max(0.0, c))))

    def p_below(self, c: float) -> float:
        """Return the p-value against a probability of at least c."""
        return float(scipy.stats.binom.cdf(self._successes, self.n, min(1.0, max(0.0, c))))

    def low(self, side: float) -> float:
        """Return the lower confidence bound."""
        return self._interval(side)[0]

    def high(self, side: float) -> float:
        """Return the upper confidence bound."""
        return self._interval(side)[1]

    def _interval(self, side: float) -> tuple[float, float]:
        found = scipy.stats.binomtest(self._successes, self.n)
        ends = found.proportion_ci(confidence_level=1 - 2 * side, method="exact")
        return float(ends.low), float(ends.high)
