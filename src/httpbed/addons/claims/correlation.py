"""The correlation of the centres of points, by the jackknife over blocks.

The noise of a single block lowers the correlation of its points with other points: if noise and the
points' differences have the same spread, a correlation of 0.9 becomes 0.48. Centres over all blocks
have a fraction of that noise. The jackknife leaves out each block in turn. The mean of its
pseudo-values lacks most of the remaining bias, and their spread is that of the estimate. It is
taken of Fisher's z = artanh(r), whose spread does not depend on r (Hinkley 1978, Biometrika 65).
"""

from __future__ import annotations

import numpy as np

from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Floats

LEAST_BLOCKS = 2
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
    if n < LEAST_BLOCKS:
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
