"""How many of several hypotheses are false, with a bound that fails rarely.

A claim about every cell of a set needs one error rate for all of them. The **partial conjunction**
test (Benjamini and Heller 2008, Biometrics 64) rejects "fewer than u of the m hypotheses are false"
by combining the m - u + 1 largest p-values. The largest u up to which every test rejects is a lower
bound on the number of false hypotheses, with the error rate of one test. For u = m it is the
largest p-value alone: that all cells lie in a region needs no correction.

The p-values are combined by Simes' method, which holds under positive dependence (theorem 1 there).
Cells of a campaign depend on each other: packets of a block are lost alike in all of its trials.
"""

from __future__ import annotations

import numpy as np

from httpbed.results.sample import Floats


def false_hypotheses(p_values: Floats, side: float) -> int:
    """Return the lower bound on the number of false hypotheses, at error rate ``side``."""
    above = np.flatnonzero(combined_p_values(p_values) > side)
    return int(above[0]) if above.size else int(p_values.size)


def combined_p_values(p_values: Floats) -> Floats:
    """Return the p-values of "fewer than u are false" for u = 1 ... m."""
    largest_first = np.sort(p_values)[::-1]
    sizes = range(largest_first.size, 0, -1)
    return np.array([_simes(largest_first[:size]) for size in sizes])


def _simes(p_values: Floats) -> float:
    smallest_first = np.sort(p_values)
    ranks = np.arange(1, smallest_first.size + 1)
    return float(np.min(smallest_first * smallest_first.size / ranks))
