"""Comparisons: the paired ratio of a treatment to its base, within the same blocks.

A machine's drift affects all trials of a block in the same way. So each block gives one ratio. If
two treatments do not differ, their trials in a block could be exchanged, so the logarithm of the
block's ratio is as likely to be positive as negative, at any size: it is symmetric about zero. Then
Wilcoxon's signed ranks have a known distribution at every number of blocks, and the interval that
inverts them (Tukey; Hollander and Wolfe 1999, section 3.4) misses 1 in at most 5 % of such
comparisons. Its estimate is the pseudo-median, the median of the averages of all pairs of
logarithms (Hodges and Lehmann 1963). With five blocks the interval covers 93.75 % at most; fewer
than five settle nothing, for even if all ratios agree in direction, chance alone does that in more
than one case of ten.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results import location, log_ratio
from httpbed.results.estimate import CONFIDENCE, Interval, interval_end
from httpbed.results.log_ratio import LogRatio, Standing
from httpbed.results.sample import Bounded, Floats, Sample, between

EQUAL_MARGIN = 0.01
"""Treatments that certainly differ by less than this share count as equal."""
MIN_BLOCKS = 5
"""Below this number of pairs every judgement is open."""
EFFICIENCY = math.sqrt(math.pi / 3)
"""Standard error of the pseudo-median over that of the mean, for normal data."""


@dataclass(frozen=True)
class Differences:
    """A treatment's values minus its base's, block by block, in the metric's unit."""

    least: float
    most: float
    none: int
    """Number of blocks in which both values are equal to the last digit."""


@dataclass(frozen=True)
class Ratio:
    """A treatment's metric over its base's, paired by block."""

    n: int
    """Number of blocks in which both are known well enough for a ratio."""
    value: Bounded
    """Pseudo-median of the blocks' ratios."""
    of_medians: Bounded
    """Ratio of both medians over these blocks, which papers with one median per treatment publish
    (Biswal and Gnawali 2016). It ignores the pairing and has no interval here."""
    interval: Interval | None
    below: int
    """Number of blocks with a ratio under 1; those with an unknown value are in neither number."""
    above: int
    undefined: int
    """Number of shared blocks without a ratio: both timed out, or the base is zero."""
    judgement: Standing
    blocks_to_settle: int | None
    """About how many blocks would settle an open judgement; None if settled, of few pairs, or where
    trials are to be repeated first."""
    differences: Differences | None
    """None if any value is a bound only."""

    @property
    def identical(self) -> bool:
        """Whether all shared blocks have the same value twice."""
        gaps = self.differences
        return gaps is not None and not self.undefined and gaps.none == self.n

    def values(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`, unrounded; censored figures carry ``beyond``."""
        return {
            "n": self.n,
            "pseudo_median": asdict(self.value),
            "of_medians": asdict(self.of_medians),
            "interval": self.interval and asdict(self.interval),
            "blocks_below_1": self.below,
            "blocks_above_1": self.above,
            "undefined": self.undefined,
            "judgement": self.judgement,
            "blocks_to_settle": self.blocks_to_settle,
            "differences": self.differences and asdict(self.differences),
        }


def compare(sample: Sample, base: Sample) -> Ratio | None:
    """Compare two treatments; None when no block has both."""
    values, to = sample.presumed(), base.presumed()
    shared = sorted(values.keys() & to.keys())
    late = sample.censored.keys() & base.censored.keys()
    pairs = [block for block in shared if block not in late and values[block] > 0 and to[block] > 0]
    if not pairs:
        return None
    unknown = sample.unknown | base.unknown
    ratio = log_ratio.of_pairs(sample, base, pairs)
    ratios = np.array([values[block] / to[block] for block in pairs])
    known = ratios[[block not in unknown for block in pairs]]
    judgement = judge(ratio, len(pairs))
    is_forecast = judgement == "open" and unknown.isdisjoint(pairs)
    return Ratio(
        n=len(pairs),
        value=between(*(math.exp(end.value) for end in ratio)),
        of_medians=_of_medians(sample, base, pairs),
        interval=ratio_interval(ratio),
        below=int(np.sum(known < 1)),
        above=int(np.sum(known > 1)),
        undefined=len(shared) - len(pairs),
        judgement=judgement,
        blocks_to_settle=blocks_to_settle(ratios) if is_forecast else None,
        differences=_differences(sample, base, pairs),
    )


def judge(ratio: LogRatio, n: int) -> Standing:
    """Return what the ratio of n pairs settles."""
    return ratio.standing(EQUAL_MARGIN, ratio.side(1 - CONFIDENCE)) if n >= MIN_BLOCKS else "open"


def ratio_interval(ratio: LogRatio) -> Interval | None:
    """Return the interval of the pseudo-median of paired ratios; None for a single pair."""
    if ratio.at_bound.n < 2:  # one pair has no spread
        return None
    side = ratio.side(1 - CONFIDENCE)
    return Interval(
        low=interval_end([math.exp(end.low(side)) for end in ratio], "<"),
        high=interval_end([math.exp(end.high(side)) for end in ratio], ">"),
        coverage=min(CONFIDENCE, 1 - 2 * side),
    )


def blocks_to_settle(ratios: Floats) -> int | None:
    """About how many blocks would settle whether the true ratio differs from 1.

    Computed from the spread of the logarithms: the interval's half-width shrinks with the root of
    the number of blocks, until it excludes 1 or fits within the margin of equality. None with fewer
    than ``MIN_BLOCKS`` pairs, whose spread forecasts nothing.
    """
    logs = np.log(ratios)
    if logs.size < MIN_BLOCKS:
        return None
    quantile = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    width = quantile * EFFICIENCY * float(logs.std(ddof=1))
    effect = abs(location.centre(logs).value)
    gap = max(effect, math.log1p(EQUAL_MARGIN) - effect)
    return max(logs.size + 1, math.ceil((width / gap) ** 2))


def _both(values: Mapping[int, float], base: Mapping[int, float], pairs: list[int]) -> Floats:
    """Return the values and the base's values of the blocks, shape (2, blocks)."""
    return np.array([[one[block] for block in pairs] for one in (values, base)])


def _differences(sample: Sample, base: Sample, pairs: list[int]) -> Differences | None:
    if any(block not in one.observed for one in (sample, base) for block in pairs):
        return None
    now, before = _both(sample.observed, base.observed, pairs)
    gaps = now - before
    return Differences(float(gaps.min()), float(gaps.max()), int(np.sum(gaps == 0)))


def _of_medians(sample: Sample, base: Sample, pairs: list[int]) -> Bounded:
    def ratio(values: dict[int, float], to: dict[int, float]) -> float:
        median, other = np.median(_both(values, to, pairs), axis=1)
        return float(median / other)

    lowest, highest = (
        ratio(sample.lowest(), base.highest()),
        ratio(sample.highest(), base.lowest()),
    )
    return between(lowest, ratio(sample.presumed(), base.presumed()), highest)


@dataclass(frozen=True)
class LevelEffect:
    """One level of a factor against the reference."""

    level: str
    cells: tuple[Mapping[str, str], ...]
    """The treatment of each cell, in the design's order."""
    ratios: tuple[Ratio, ...]
    """One for each cell."""

    def directed(self) -> Iterator[tuple[Mapping[str, str], Ratio]]:
        """Yield the cells in which the level certainly gives less or more."""
        for cell, ratio in zip(self.cells, self.ratios, strict=True):
            if ratio.judgement in {"less", "more"}:
                yield cell, ratio


@dataclass(frozen=True)
class Interaction:
    """Another factor, on whose level depends whether a level gives less or more."""

    factor: str
    sides: Mapping[Standing, tuple[tuple[str, int, tuple[Ratio, ...]], ...]]
    """For ``less`` and ``more``: the other factor's levels, each with its number of cells and the
    ratios of those that are settled."""


@dataclass(frozen=True)
class FactorEffect:
    """One factor with several levels."""

    factor: str
    reference: str
    """The base's level, else the first level that has cells."""
    levels: tuple[LevelEffect, ...]
    """The other levels that have cells."""


def of_factors(samples: Sequence[Sample], base: Mapping[str, str]) -> tuple[FactorEffect, ...]:
    """Compare the levels of each factor that has several; factors of the base come first.

    The pairs of treatments that differ in one factor alone are its **cells**. A factor that is only
    varied together with others has none.
    """
    names = list(samples[0].levels) if samples else []
    ordered = [*(name for name in names if name in base), *(n for n in names if n not in base)]
    return tuple(
        _of_factor(samples, name, base.get(name))
        for name in ordered
        if len({sample.levels[name] for sample in samples}) > 1
    )


def _of_factor(samples: Sequence[Sample], factor: str, wanted: str | None) -> FactorEffect:
    every = list(dict.fromkeys(sample.levels[factor] for sample in samples))
    candidates = [wanted] if wanted in every else every
    for reference in candidates:
        if levels := _levels(samples, factor, reference):
            return FactorEffect(factor, reference, levels)
    return FactorEffect(factor, candidates[0], ())


def _levels(samples: Sequence[Sample], factor: str, reference: str) -> tuple[LevelEffect, ...]:
    by_key: Mapping[TreatmentKey, Sample] = {treatment_key(one.levels): one for one in samples}
    cells: dict[str, list[tuple[Mapping[str, str], Ratio]]] = {}
    for sample in samples:
        level = sample.levels[factor]
        other = by_key.get(treatment_key({**sample.levels, factor: reference}))
        if level != reference and other and (ratio := compare(sample, other)):
            cells.setdefault(level, []).append((sample.levels, ratio))
    return tuple(
        LevelEffect(level, *map(tuple, zip(*compared, strict=True)))
        for level, compared in cells.items()
    )


def interaction(effect: LevelEffect, factor: str) -> Interaction | None:
    """Return the factor whose level decides whether this level gives less or more.

    Each level of that factor has one direction in most of its cells, or none in any, never both;
    None if there is no such factor, or if chance would settle as many cells. Of several factors,
    the one with the fewest levels explains most.
    """
    directed = list(effect.directed())
    if len(directed) <= (1 - CONFIDENCE) * len(effect.ratios):
        return None
    if {ratio.judgement for _, ratio in directed} != {"less", "more"}:
        return None
    others = [name for name in effect.cells[0] if name != factor]
    by_count = sorted(others, key=lambda name: len({cell[name] for cell in effect.cells}))
    found = (_separated(effect, name) for name in by_count)
    return next(filter(None, found), None)


def _separated(effect: LevelEffect, name: str) -> Interaction | None:
    """Return the interaction with a factor, if its levels separate less from more."""
    counts = Counter(cell[name] for cell in effect.cells)
    settled: dict[str, list[Ratio]] = {}
    for cell, ratio in effect.directed():
        settled.setdefault(cell[name], []).append(ratio)
    sides: dict[Standing, list[tuple[str, int, tuple[Ratio, ...]]]] = {}
    for level, ratios in settled.items():
        directions = {ratio.judgement for ratio in ratios}
        if len(directions) > 1 or 2 * len(ratios) <= counts[level]:
            return None
        levels = sides.setdefault(directions.pop(), [])
        levels.append((level, counts[level], tuple(ratios)))
    return Interaction(name, {side: tuple(levels) for side, levels in sides.items()})
