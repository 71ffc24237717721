"""How many of several hypotheses are false, with a bound that fails rarely.

A claim about a set of cells needs one error rate for all of them. The **partial conjunction** test
(Benjamini and Heller 2008, Biometrics 64) rejects "fewer than u of the m hypotheses are false" by
combining the m - u + 1 largest p-values. The largest u up to which every test rejects is a lower
bound on the number of false hypotheses, with the error rate of one test. For u = m it is the
largest p-value alone: that all cells lie in a region needs no correction.

Dependent p-values are combined by Simes' method (Benjamini and Heller, theorem 1; it holds under
positive dependence, such as that of ratios with a common base). It finds one cell that differs
clearly. Fisher's method finds many cells that differ a little, and needs independent p-values; of
these both are taken, and the smaller result counts twice (Bonferroni).
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from httpbed.analysis.sample import Floats


def false_hypotheses(p_values: Floats, side: float, *, independent: bool) -> int:
    """Return the lower bound on the number of false hypotheses, at error rate ``side``."""
    combined = combined_p_values(p_values, independent=independent)
    above = np.flatnonzero(combined > side)
    return int(above[0]) if above.size else int(combined.size)


def combined_p_values(p_values: Floats, *, independent: bool) -> Floats:
    """Return the p-values of "fewer than u are false" for u = 1 ... m."""
    largest_first = np.sort(p_values)[::-1]
    simes = np.array([_simes(largest_first[:size]) for size in range(1, largest_first.size + 1)])
    combined = _smaller_of_two(_fisher(largest_first), simes) if independent else simes
    return combined[::-1]


def some_false(p_values: Floats, *, independent: bool) -> float:
    """Return the p-value of the hypothesis that none of the hypotheses is false."""
    simes = _simes(p_values)
    if not independent or p_values.size == 1:
        return simes
    logs = -2 * float(np.log(np.maximum(p_values, 1e-300)).sum())
    return min(1.0, 2 * min(simes, float(stats.chi2.sf(logs, 2 * p_values.size))))


def _smaller_of_two(fisher: Floats, simes: Floats) -> Floats:
    doubled: Floats = np.minimum(1.0, 2 * np.minimum(fisher, simes))
    doubled[0] = simes[0]  # of one p-value both are the p-value itself
    return doubled


def _fisher(p_values: Floats) -> Floats:
    """Combine the first 1, 2, 3 ... p-values."""
    logs = np.cumsum(-2 * np.log(np.maximum(p_values, 1e-300)))
    return np.asarray(stats.chi2.sf(logs, 2 * np.arange(1, p_values.size + 1)), dtype=float)


def _simes(p_values: Floats) -> float:
    smallest_first = np.sort(p_values)
    ranks = np.arange(1, smallest_first.size + 1)
    return float(np.min(smallest_first * smallest_first.size / ranks))
