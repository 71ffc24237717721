"""How many cells a repetition of the paper's own procedure would find in a region.

"Faster in 85 % of cases" counts signs of what the paper computed for each case: a ratio of medians
of k loads. So the estimate is the number that such a procedure would report if it were repeated.
Cells exactly at the edge then fall on either side by chance, here as in the paper.

**A cell.** Its centre is the ratio of our medians. Its error has two parts: that of our medians,
and that of the procedure's. The first shrinks with our blocks, the second with k. Variances are
moderated (:func:`squeezed`). The centre's distribution is taken under two priors: flat, and normal
with the mean and variance that the cells themselves show (empirical Bayes). A flat prior is too
wide where cells resemble each other, a normal one too narrow where they do not; the interval of the
number is the hull of both.

**The number.** With independent cells it has the Poisson-binomial distribution. Cells depend on
each other, because packets of a block are lost alike in all trials: a Gaussian copula with one
correlation, that of the blocks' residuals, averages this distribution over a common factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.region import Region
from httpbed.results.location import Student
from httpbed.results.sample import Floats

NODES = 31
"""The Gauss-Hermite quadrature over the common factor has so many nodes."""
MIN_OF_PRIOR = 4
"""Cells with which a prior distribution is estimated."""
CERTAIN = 1e-12
SEED, DRAWS = 20260101, 4_000


class Errors(NamedTuple):
    """What is known of the cells' centres, on the scale of their statistics."""

    centres: Floats
    own: Floats
    """Standard errors of the centres."""
    degrees: Floats


@dataclass(frozen=True)
class CellNumber:
    """The distribution of a number of cells under each prior; they have equal lengths."""

    chances: tuple[Floats, ...]

    def low(self, side: float) -> int:
        """Return the largest number below which it lies with probability ``side`` at most."""
        return min(
            int(np.searchsorted(np.cumsum(chance), side, side="right")) for chance in self.chances
        )

    def high(self, side: float) -> int:
        """Return the smallest number above which it lies with probability ``side`` at most."""
        return max(
            int(np.searchsorted(np.cumsum(chance), 1 - side - CERTAIN)) for chance in self.chances
        )


def number_inside(cells: Sequence[CellLocation], region: Region, loads: int | None) -> CellNumber:
    """Return how many cells lie in a region, as medians of so many loads; None: as true values."""
    known = errors(cells, of_medians=loads is not None)
    noise = _noise(cells, loads) if loads else np.zeros(len(cells))
    inner = [cell.inner(region) for cell in cells]
    ends = np.array([[one.low for one in inner], [one.high for one in inner]])
    rho = correlation(cells)
    chances_by_prior = [
        _chances(ends, centres, np.hypot(spread, noise), degrees)
        for centres, spread, degrees in _posteriors(known)
    ]
    return CellNumber(tuple(_number(chances, rho) for chances in chances_by_prior))


def difference(
    one: CellNumber, other: CellNumber, sizes: tuple[int, int], side: float
) -> tuple[float, float]:
    """Return the bounds of a difference of two shares."""
    differences = np.subtract.outer(
        np.arange(sizes[0] + 1) / sizes[0], np.arange(sizes[1] + 1) / sizes[1]
    ).ravel()
    order = np.argsort(differences, kind="stable")
    ends = []
    for first, second in zip(one.chances, other.chances, strict=True):
        reached = np.cumsum(np.multiply.outer(first, second).ravel()[order])
        low = np.searchsorted(reached, side, side="right")
        high = np.searchsorted(reached, 1 - side - CERTAIN)
        ends.append((differences[order][low], differences[order][high]))
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def draws(cells: Sequence[CellLocation], stream: int = 0) -> list[Floats]:
    """Return draws of the cells' values under each prior: a row each, a column for each cell.

    Draws of different streams are independent.
    """
    known, random = errors(cells, of_medians=False), np.random.default_rng((SEED, stream))
    rho = correlation(cells)
    common = random.standard_normal((DRAWS, 1))
    own = random.standard_normal((DRAWS, len(cells)))
    normal = math.sqrt(rho) * common + math.sqrt(1 - rho) * own
    drawn = []
    for centres, spread, degrees in _posteriors(known):
        wide = (
            stats.t.ppf(stats.norm.cdf(normal), degrees) if np.isfinite(degrees).all() else normal
        )
        shown = centres + spread * wide
        columns = [
            np.vectorize(cell.shown, otypes=[float])(shown[:, index])
            for index, cell in enumerate(cells)
        ]
        drawn.append(np.array(columns).T)
    return drawn


def errors(cells: Sequence[CellLocation], *, of_medians: bool) -> Errors:
    """Return the cells' centres with their errors, by moderated variances."""
    paired, degrees = _variances(cells)
    n = np.array([cell.n for cell in cells], dtype=float)
    if not of_medians:
        centres = np.array([cell.lows.value for cell in cells])
        return Errors(centres, np.sqrt(paired / n), degrees)
    centres = np.array([cell.of_medians for cell in cells])
    # What delays both sides of a block cancels in a ratio of its values, not in one of medians.
    apart = median_variance(n) * _apart(cells, paired)
    return Errors(centres, np.sqrt(np.minimum(apart, paired)), degrees)


def _noise(cells: Sequence[CellLocation], loads: int) -> Floats:
    """Return the standard error of what the procedure computes from loads that are no pairs."""
    paired, _ = _variances(cells)
    return np.sqrt(median_variance(float(loads)) * _apart(cells, paired))


def median_variance(n: Floats | float) -> Floats:
    """Return the variance of the median of n normal values, each with variance 1, to 3 %."""
    return np.asarray(np.pi / (2 * np.asarray(n) + np.pi - 2))


def _apart(cells: Sequence[CellLocation], paired: Floats) -> Floats:
    """Return each cell's variance of one load of each side, as if they were no pair."""
    known = [paired[at] if one.apart is None else one.apart for at, one in enumerate(cells)]
    moderated_, _ = _moderated(np.array(known), cells)
    return np.maximum(paired, moderated_)


def _variances(cells: Sequence[CellLocation]) -> tuple[Floats, Floats]:
    return _moderated(np.array([np.var(cell.values, ddof=1) for cell in cells]), cells)


def _moderated(variances: Floats, cells: Sequence[CellLocation]) -> tuple[Floats, Floats]:
    degrees = np.array([cell.n - 1.0 for cell in cells])
    if len(cells) < MIN_CELLS:
        return variances, degrees
    return squeezed(variances, degrees)


def _posteriors(known: Errors) -> list[Errors]:
    """Return the centres under a flat prior and, of enough cells, under a normal one."""
    if known.centres.size < MIN_OF_PRIOR or not known.own.all():
        return [known]
    mean, variance = _normal_prior(known.centres, known.own**2)
    weight = variance / (variance + known.own**2)
    moved = mean + weight * (known.centres - mean)
    return [known, Errors(moved, np.sqrt(weight) * known.own, np.full(moved.size, np.inf))]


def _normal_prior(centres: Floats, squares: Floats) -> tuple[float, float]:
    """Return the mean and variance of true centres that make the measured ones most probable."""

    def mean_at(variance: float) -> float:
        return float(np.average(centres, weights=1 / (variance + squares)))

    def improbable(log_variance: float) -> float:
        whole = math.exp(log_variance) + squares
        away = (centres - mean_at(math.exp(log_variance))) ** 2
        return float(np.sum(np.log(whole) + away / whole))

    most = math.log(float(np.var(centres)) + float(squares.mean()) + 1e-12)
    found = optimize.minimize_scalar(improbable, bounds=(most - 14, most + 2), method="bounded")
    variance = math.exp(float(found.x))
    return mean_at(variance), variance


def _chances(ends: Floats, centres: Floats, spread: Floats, degrees: Floats) -> Floats:
    """Return the probability that each cell lies between two ends."""
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (ends - centres) / spread
    at = np.where(np.isnan(at), 0.0, at)  # no spread, and the centre is at the edge
    finite = np.where(np.isfinite(degrees), degrees, 1.0)
    below = np.where(np.isfinite(degrees), stats.t.cdf(at, finite), stats.norm.cdf(at))
    return np.asarray(below[1] - below[0])


def _number(chances: Floats, rho: float) -> Floats:
    """Return the distribution of the number of cells inside."""
    if rho < 1e-3:  # as good as none
        return np.asarray(_poisson_binomial(chances[None])[0])
    at, weights = np.polynomial.hermite_e.hermegauss(NODES)
    centre = stats.norm.ppf(np.clip(chances, CERTAIN, 1 - CERTAIN))
    given = stats.norm.cdf((centre + math.sqrt(rho) * at[:, None]) / math.sqrt(1 - rho))
    return np.asarray(weights @ _poisson_binomial(given) / weights.sum())


def _poisson_binomial(chances: Floats) -> Floats:
    """Return, for each row of probabilities, the distribution of the number of successes."""
    distribution = np.zeros((len(chances), chances.shape[1] + 1))
    distribution[:, 0] = 1.0
    for chance in chances.T[:, :, None]:
        distribution[:, 1:] = distribution[:, 1:] * (1 - chance) + distribution[:, :-1] * chance
        distribution[:, :1] *= 1 - chance
    return distribution


def correlation(cells: Sequence[CellLocation]) -> float:
    """Return the mean correlation of two cells' residuals in the same block."""
    standing: dict[int, list[float]] = {}
    for cell in cells:
        spread = float(np.std(cell.values, ddof=1)) if cell.n > 1 else 0.0
        if spread > 0:
            residuals = (cell.values - np.mean(cell.values)) / spread
            share = math.sqrt(cell.n / (cell.n - 1))
            for block, one in zip(cell.blocks, residuals, strict=True):
                standing.setdefault(block, []).append(share * float(one))
    pairs = sum(len(own) * (len(own) - 1) for own in standing.values())
    products = sum(sum(own) ** 2 - sum(one**2 for one in own) for own in standing.values())
    return min(0.95, max(0.0, products / pairs)) if pairs else 0.0


MIN_CELLS = 2
MIN_SHARE, MIN_VARIANCE = 1e-5, 1e-14
"""A variance counts as at least this share of the median one, and at least as this number."""
SAME_VARIANCE = 1e6
"""Degrees of freedom of a distribution without spread."""


def located(cells: Sequence[CellLocation]) -> list[CellLocation]:
    """Return cells with moderated locations; those without values of blocks keep their own."""
    spread = [index for index, cell in enumerate(cells) if len(cell.values) > 1]
    shrunk = [*cells]
    if len(spread) < MIN_CELLS:
        return shrunk
    values = [cells[index].values for index in spread]
    variances, degrees = squeezed(
        np.array([np.var(one, ddof=1) for one in values]),
        np.array([len(one) - 1.0 for one in values]),
    )
    for index, own, variance, degree in zip(spread, values, variances, degrees, strict=True):
        centre, error = float(np.mean(own)), math.sqrt(variance / len(own))
        place = Student(centre, error, float(degree), len(own))
        shrunk[index] = replace(cells[index], lows=place, highs=place)
    return shrunk


def squeezed(variances: Floats, degrees: Floats) -> tuple[Floats, Floats]:
    """Return moderated variances, and their degrees of freedom.

    Five blocks hardly tell the variance of one cell. Smyth (2004, Statistical Applications in
    Genetics and Molecular Biology 3) takes the variances of all cells for a sample from one
    distribution, an inverse chi-square whose two parameters the cells' own variances give, and
    moves each variance towards its centre. The degrees of freedom grow by those of that
    distribution, and are at most the sum of the cells' own.
    """
    if not variances.any():
        return variances, np.full(variances.size, degrees.sum())
    floor = max(MIN_SHARE * float(np.median(variances)), MIN_VARIANCE)
    raised = np.maximum(variances, floor)
    logs = np.log(raised) - special.digamma(degrees / 2) + np.log(degrees / 2)
    spread = logs.var(ddof=1) - special.polygamma(1, degrees / 2).mean()
    prior = 2 * _inverse_trigamma(float(spread)) if spread > 0 else SAME_VARIANCE
    scale = math.exp(logs.mean() + special.digamma(prior / 2) - math.log(prior / 2))
    moderated = (prior * scale + degrees * raised) / (prior + degrees)
    return moderated, np.minimum(prior + degrees, degrees.sum())


def _inverse_trigamma(value: float) -> float:
    """Solve trigamma(x) = value by Newton's method (Smyth 2004, appendix)."""
    if value > 1e7:  # the asymptotes of both ends
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:  # converged
            break
    return x
