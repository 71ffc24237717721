"""Comparisons: the paired ratio of a treatment to its base, within the same blocks.

A machine's drift affects all trials of a block in the same way. So each block gives one ratio, and
the comparison is the median of these ratios with a bootstrap interval (Efron 1987: BCa, the
percentile interval where BCa is undefined). By simulation such intervals of a median cover 92
to 95 % for 5 to 30 blocks; fewer than five blocks settle nothing, for even if all ratios agree
in direction, chance alone does that in more than one case of ten (sign test).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from httpbed.analysis.estimate import CONFIDENCE, Interval
from httpbed.analysis.sample import Bounded, Floats, Sample, bounded

Judgement = Literal["less", "more", "equal", "open"]
"""``equal``: the whole interval lies within the margin of 1. ``less``, ``more``: it excludes 1.
``open``: neither; the difference is within the noise."""

EQUAL_MARGIN = 0.01
"""Treatments that certainly differ by less than this share count as equal."""
LEAST_BLOCKS = 5
"""Below this number of pairs every judgement is open."""
RESAMPLES = 9_999
BOOTSTRAP_SEED = 19870301
MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)
"""Standard error of the median over that of the mean, for normal data."""


@dataclass(frozen=True)
class Ratio:
    """A treatment's metric over its base's, paired by block."""

    n: int
    """Number of blocks in which both are known well enough for a ratio."""
    median: Bounded
    """Median of the blocks' ratios."""
    of_medians: Bounded
    """Ratio of both medians over these blocks, which papers with one median per treatment publish
    (Biswal and Gnawali 2016). It ignores the pairing and has no interval here."""
    interval: Interval | None
    """Interval of :attr:`median`."""
    below: int
    """Number of blocks with a ratio under 1."""
    undefined: int
    """Number of shared blocks without a ratio: both timed out, or the base is zero."""
    judgement: Judgement
    blocks_to_settle: int | None
    """About how many blocks would settle an open judgement; None when settled or hopeless."""


def compare(sample: Sample, base: Sample) -> Ratio | None:
    """Compare two treatments; None when no block has both."""
    shared = sorted(set(sample.at_bound()) & set(base.at_bound()))
    pairs = [block for block in shared if _defined(sample, base, block)]
    if not pairs:
        return None
    at_bound = _ratios(sample.at_bound(), base.at_bound(), pairs)
    far = _ratios(sample.far(), base.far(), pairs)
    interval = ratio_interval(at_bound, far)
    judgement = judge(interval, len(pairs))
    return Ratio(
        n=len(pairs),
        median=bounded(lambda x: float(np.median(x)), at_bound, far),
        of_medians=bounded(
            _of_medians,
            _both(sample.at_bound(), base.at_bound(), pairs),
            _both(sample.far(), base.far(), pairs),
        ),
        interval=interval,
        below=int(np.sum(at_bound < 1)),
        undefined=len(shared) - len(pairs),
        judgement=judgement,
        blocks_to_settle=blocks_to_settle(at_bound) if judgement == "open" else None,
    )


def ratio_interval(at_bound: Floats, far: Floats | None = None) -> Interval | None:
    """Bootstrap interval of the median of paired ratios."""
    n = at_bound.size
    if n < 2:  # noqa: PLR2004 - one pair has no spread
        return None
    far = at_bound if far is None else far
    censored = not np.array_equal(at_bound, far)
    ends = [_bootstrap(x, censored) for x in (at_bound, far)]
    low, high = (bounded(lambda pair: float(pair[0]), *_ends(ends, end)) for end in (0, 1))
    return Interval(low, high, coverage=min(CONFIDENCE, 1 - 0.5 ** (n - 1)))


def judge(interval: Interval | None, n: int) -> Judgement:
    """Return what an interval of ratios settles."""
    if interval is None or n < LEAST_BLOCKS:
        return "open"
    low, high = interval.low, interval.high
    reliable = not low.beyond and not high.beyond
    if reliable and low.value >= 1 - EQUAL_MARGIN and high.value <= 1 + EQUAL_MARGIN:
        return "equal"
    if high.value < 1 and high.beyond != ">":
        return "less"
    if low.value > 1 and low.beyond != "<":
        return "more"
    return "open"


def blocks_to_settle(ratios: Floats) -> int | None:
    """About how many blocks would settle whether the true ratio differs from 1.

    Computed from the spread of the logarithms: the interval's half-width shrinks with the root of
    the number of blocks, until it excludes 1 or fits within the margin of equality. None with fewer
    than two pairs, which have no spread.
    """
    logs = np.log(ratios)
    if logs.size < 2:  # noqa: PLR2004 - one pair has no spread
        return None
    quantile = float(stats.norm.ppf((1 + CONFIDENCE) / 2))
    width = quantile * MEDIAN_EFFICIENCY * float(logs.std(ddof=1))
    effect = abs(float(np.median(logs)))
    gap = max(effect, math.log1p(EQUAL_MARGIN) - effect)
    return max(LEAST_BLOCKS, logs.size + 1, math.ceil((width / gap) ** 2))


def _defined(sample: Sample, base: Sample, block: int) -> bool:
    both_censored = block in sample.censored and block in base.censored
    return not both_censored and base.at_bound()[block] > 0 and sample.at_bound()[block] > 0


def _ratios(values: dict[int, float], base: dict[int, float], pairs: list[int]) -> Floats:
    return np.array([values[block] / base[block] for block in pairs])


def _both(values: dict[int, float], base: dict[int, float], pairs: list[int]) -> Floats:
    """Return the values and the base's values of the blocks, shape (2, blocks)."""
    return np.array([[one[block] for block in pairs] for one in (values, base)])


def _of_medians(both: Floats) -> float:
    median, base = np.median(both, axis=1)
    return float(median / base)


def _ends(ends: list[tuple[float, float]], end: int) -> tuple[Floats, Floats]:
    at_bound, far = (np.array([pair[end]]) for pair in ends)
    return at_bound, far


def _bootstrap(ratios: Floats, censored: bool) -> tuple[float, float]:
    if np.ptp(ratios) == 0:
        return float(ratios[0]), float(ratios[0])
    if not censored:
        ends = _scipy_bootstrap(ratios, "BCa")
        if not any(map(math.isnan, ends)):
            return ends
    return _scipy_bootstrap(ratios, "percentile")


def _scipy_bootstrap(ratios: Floats, method: Literal["BCa", "percentile"]) -> tuple[float, float]:
    # BCa is undefined for nearly degenerate data: it complains and gives nan, handled above.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (ratios,),
            np.median,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method=method,
            rng=np.random.default_rng(BOOTSTRAP_SEED),
        ).confidence_interval
    return float(found.low), float(found.high)
