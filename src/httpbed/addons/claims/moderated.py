"""Each cell's location by Student's t, with variances that all cells of a claim estimate together.

Five blocks hardly tell the variance of one cell. Smyth (2004, Statistical Applications in Genetics
and Molecular Biology 3) takes the variances of all cells for a sample from one distribution, an
inverse chi-square whose two parameters the cells' own variances give, and moves each variance
towards its centre. The degrees of freedom grow by those of that distribution, and are at most the
sum of the cells' own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from httpbed.addons.claims.cells import CellLocation
from httpbed.results.location import Student
from httpbed.results.sample import Floats

LEAST_CELLS = 2
LEAST_SHARE, LEAST_VARIANCE = 1e-5, 1e-14
"""A variance counts as at least this share of the median one, and at least as this number."""
SAME_VARIANCE = 1e6
"""Degrees of freedom of a distribution without spread."""


def located(cells: Sequence[CellLocation]) -> list[CellLocation]:
    """Return cells with moderated locations; those without values of blocks keep their own."""
    at = [index for index, cell in enumerate(cells) if _has_spread(cell)]
    found = [*cells]
    if len(at) < LEAST_CELLS:
        return found
    values = [cells[index].values for index in at]
    variances, degrees = squeezed(
        np.array([np.var(one, ddof=1) for one in values]),
        np.array([len(one) - 1.0 for one in values]),
    )
    for index, own, variance, degree in zip(at, values, variances, degrees, strict=True):
        centre, error = float(np.mean(own)), math.sqrt(variance / len(own))
        place = Student(centre, error, float(degree), len(own))
        found[index] = replace(cells[index], lows=place, highs=place)
    return found


def _has_spread(cell: CellLocation) -> bool:
    return len(cell.values) > 1


def squeezed(variances: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Return moderated variances, and their degrees of freedom."""
    if not variances.any():
        return variances, np.full(variances.size, degrees.sum())
    floor = max(LEAST_SHARE * float(np.median(variances)), LEAST_VARIANCE)
    raised = np.maximum(variances, floor)
    logs = np.log(raised) - special.digamma(degrees / 2) + np.log(degrees / 2)
    spread = logs.var(ddof=1) - special.polygamma(1, degrees / 2).mean()
    prior = 2 * _inverse_trigamma(float(spread)) if spread > 0 else SAME_VARIANCE
    scale = math.exp(logs.mean() + special.digamma(prior / 2) - math.log(prior / 2))
    moderated = (prior * scale + degrees * raised) / (prior + degrees)
    return moderated, np.minimum(prior + degrees, degrees.sum())


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method (Smyth 2004, appendix)."""
    if value > 1e7:  # noqa: PLR2004 - the asymptotes of both ends
        return 1 / math.sqrt(value)
    if value < 1e-6:  # noqa: PLR2004
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:  # noqa: PLR2004 - converged
            break
    return x
