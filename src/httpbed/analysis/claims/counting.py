"""How many of several hypotheses are false, with a bound that fails rarely.

A claim about a set of cells needs one error rate for all of them. The **partial conjunction** test
(Benjamini and Heller 2008, Biometrics 64) rejects "fewer than u of the m hypotheses are false" by
combining the m - u + 1 largest p-values. The largest u up to which every test rejects is a lower
bound on the number of false hypotheses, with the error rate of one test. For u = m it is the
largest p-value alone: that all cells lie in a region needs no correction.

Independent p-values are combined by Fisher's method, others by Simes' (Benjamini and Heller,
theorem 1; it holds under positive dependence, such as that of ratios with a common base).
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
    sizes = np.arange(1, largest_first.size + 1)
    if independent:
        logs = np.cumsum(-2 * np.log(np.maximum(largest_first, 1e-300)))
        combined = np.asarray(stats.chi2.sf(logs, 2 * sizes))
    else:
        combined = np.array([_simes(largest_first[:size]) for size in sizes])
    return combined[::-1]


def some_false(p_values: Floats, *, independent: bool) -> float:
    """Return the p-value of the hypothesis that none of the hypotheses is false."""
    if independent:
        logs = -2 * np.log(np.maximum(p_values, 1e-300)).sum()
        return float(stats.chi2.sf(logs, 2 * p_values.size))
    return _simes(p_values)


def _simes(p_values: Floats) -> float:
    smallest_first = np.sort(p_values)
    ranks = np.arange(1, smallest_first.size + 1)
    return float(np.min(smallest_first * smallest_first.size / ranks))
