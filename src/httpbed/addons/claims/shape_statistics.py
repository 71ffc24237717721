"""The violation of an order by two distributions, and the correlation of centres, over blocks.

# Violation of an order

The order says that at every value t at least as large a share of ``of`` as of ``to`` lies at or
below t: F_of(t) >= F_to(t). Its **violation** is the largest F_to(t) - F_of(t), between 0 and 1.
Samples can support a small violation, never none (Davidson and Duclos 2013, Econometric Reviews
32): the tails of two distributions always agree.

**Upper end.** The violation is at most c if F_to(t) - F_of(t) is at most c at every t. That all of
these hold needs no correction for their number, so the end is the largest of the upper ends at
single t. At one t the difference is P(to <= t < of) - P(of <= t < to). Both are shares of blocks,
each with the bound of Clopper and Pearson (1934) at half the error. ``of`` and ``to`` may depend on
each other within a block.

**Lower end.** The violation exceeds c if the difference of the empirical distributions is so large
at some t as is improbable where it is c. It is largest by chance if a share c of ``to`` lies below
all of ``of``, a share c of ``of`` above all of ``to``, and the rest agree: any other pair of
distributions whose violation is at most c moves values of ``to`` up or of ``of`` down. Given the
numbers of both, the rest comes in any sequence with equal probability, and the reflection principle
counts the sequences that reach the difference. For c = 0 this is Smirnov's exact test (Gnedenko and
Korolyuk 1951). It assumes that ``of`` and ``to`` of a block are independent; what delays both,
such as a slow machine, makes large differences rarer.

# Correlation of centres

The noise of a single block lowers the correlation of its points with other points: if noise and the
points' differences have the same spread, a correlation of 0.9 becomes 0.48. Centres over all blocks
have a fraction of that noise. The jackknife leaves out each block in turn. The mean of its
pseudo-values lacks most of the remaining bias, and their spread is that of the estimate. It is
taken of Fisher's z = artanh(r), whose spread does not depend on r (Hinkley 1978, Biometrika 65).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from scipy import special, stats

from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Floats

STEPS = 50
"""Halvings in the search for an end."""


class OrderViolation:
    """A location of the violation; smaller values are better."""

    def __init__(self, of: Floats, to: Floats) -> None:
        """Take the values of both by block; infinite values lie beyond all others."""
        self.n = of.size
        ahead, behind = _counts(of, to)
        self._ahead, self._behind = ahead, behind
        self._most = max(0, int((ahead - behind).max()))
        self.value = self._most / self.n

    @property
    def least_p(self) -> float:
        """Zero: violations near 0 or 1 have any small p-value."""
        return 0.0

    def p_above(self, c: float) -> float:
        """Return the p-value against a violation of at most c."""
        return 0.0 if c < 0 else _reaches(self.n, self._most, min(1.0, c))

    def p_below(self, c: float) -> float:
        """Return the p-value against a violation of at least c."""
        if c > 1:
            return 0.0
        if c <= 0 or self.high(1.0) > c:
            return 1.0
        return _root(lambda side: self.high(side) > c)

    def low(self, side: float) -> float:
        """Return the lower confidence bound."""
        return _least(self.n, self._most, side)

    def high(self, side: float) -> float:
        """Return the upper confidence bound."""
        upper, lower = _bounds(self.n, side / 2)
        return float(np.clip((upper[self._ahead] - lower[self._behind]).max(), self.value, 1.0))


def _counts(of: Floats, to: Floats) -> tuple[np.ndarray, np.ndarray]:
    """Count, at each t, the blocks with only ``to`` at or below it, and with only ``of``.

    Below all values both are 0.
    """
    ts = np.unique(np.concatenate([[-np.inf], of, to]))[:, None]
    ts = ts[ts[:, 0] < np.inf]
    of_below, to_below = of <= ts, to <= ts
    return (to_below & ~of_below).sum(axis=1), (of_below & ~to_below).sum(axis=1)


@functools.lru_cache(maxsize=512)
def _bounds(n: int, side: float) -> tuple[Floats, Floats]:
    """Return the upper and the lower bound of a share, by its count among n."""
    counts = np.arange(n + 1)
    upper = np.append(stats.beta.isf(side, counts[:-1] + 1, n - counts[:-1]), 1.0)
    lower = np.append(0.0, stats.beta.ppf(side, counts[1:], n - counts[1:] + 1))
    return upper, lower


@functools.lru_cache(maxsize=4096)
def _least(n: int, most: int, side: float) -> float:
    """Return the smallest violation at which the difference is not improbable."""
    if _reaches(n, most, 0.0) > side:
        return 0.0
    return _root(lambda c: _reaches(n, most, c) <= side)


def _reaches(n: int, most: int, c: float) -> float:
    """Return the largest probability that n D reaches ``most`` at a violation of c.

    D is the largest difference of the two empirical distributions. A share c of ``to`` lies first
    and a share c of ``of`` last; the walk in between starts at ``first`` and ends at ``n - rest``.
    """
    if most <= 0:
        return 1.0
    every = np.arange(n + 1)
    first, rest = every[:, None], every[None, :]
    chance = stats.binom.pmf(first, n, c) * stats.binom.pmf(rest, n, 1 - c)
    steps = n - first + rest
    log_share = _log_choose(steps, most - first + rest) - _log_choose(steps, n - first)
    certain = (first >= most) | (n - rest >= most)
    share = np.where(certain, 1.0, np.exp(np.minimum(log_share, 0.0)))
    return min(1.0, float((chance * share).sum()))


def _log_choose(n: np.ndarray, k: np.ndarray) -> Floats:
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    found = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(inside, found, -np.inf)


def _root(holds: Callable[[float], bool]) -> float:
    """Return where a property of numbers from 0 to 1, which holds for small ones, ends."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


MIN_BLOCKS = 2
PERFECT = 1 - 1e-12
"""Correlations closer to 1 differ from it by rounding only."""
PERFECT_Z = float(np.arctanh(PERFECT))


def pseudo_values(points: Floats, against: Floats) -> Floats:
    """Return the jackknife's pseudo-values of Fisher's z of the centres' correlation.

    Args:
        points: Values by block and point.
        against: What they are correlated with, of the same shape.

    Raises:
        NoIntervalError: There is one block, or no correlation.
    """
    n = len(points)
    if n < MIN_BLOCKS:
        raise NoIntervalError("one block has no spread")
    whole = _z(points, against)
    if abs(whole) >= PERFECT_Z:
        raise NoIntervalError("the points lie on a straight line, so the correlation has no spread")
    rest = [_z(np.delete(points, at, 0), np.delete(against, at, 0)) for at in range(n)]
    return n * whole - (n - 1) * np.array(rest)


def _z(points: Floats, against: Floats) -> float:
    one, other = points.mean(axis=0), against.mean(axis=0)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        raise NoIntervalError("all points have the same value, so they have no correlation")
    found = float(np.corrcoef(one, other)[0, 1])
    return float(np.arctanh(np.clip(found, -PERFECT, PERFECT)))
