"""Where a series of results changed its level, with the probability that chance did it.

A rank statistic finds the place (Pettitt 1979): the split at which the ranks before and after
differ most. Its p-value comes from permutations of the series, so it needs no distribution and
holds for short series and for exact values that repeat. A series that changed is split there, and
both parts are searched again. If nothing changes, and the values are exchangeable, a series has a
change point with a probability of 1 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import stats

from httpbed.results.sample import Floats

SIGNIFICANCE = 0.01
PERMUTATIONS = 1999
"""The smallest p-value is 1 in 2,000."""
MIN_VALUES = 10
"""In fewer, no order of different values has a probability of 1 %: 2 of 126 ways to place 4 of 9
values have all the smaller ones on one side."""
MAX_VALUES = 1000
"""The latest values of a longer series are searched."""


@dataclass(frozen=True)
class ChangePoint:
    """A change of level."""

    index: int
    """Of the first value of the new level."""
    before: float
    """Median from the previous change point on."""
    after: float
    """Median up to the next one."""
    p_value: float

    @property
    def ratio(self) -> float:
        """The new level over the old one; inf for an old level of zero."""
        return self.after / self.before if self.before else float("inf")


def change_points(values: Sequence[float]) -> list[ChangePoint]:
    """Find the changes of a series, in its order."""
    skipped = max(0, len(values) - MAX_VALUES)
    series = np.array(values[skipped:], dtype=float)
    splits = sorted(_splits(series, 0))
    edges = [0, *(index for index, _ in splits), len(series)]
    levels = [float(np.median(series[a:b])) for a, b in pairwise(edges) if b > a]
    return [
        ChangePoint(skipped + index, levels[number], levels[number + 1], p)
        for number, (index, p) in enumerate(splits)
    ]


def _splits(series: Floats, offset: int) -> Iterator[tuple[int, float]]:
    """Yield the index of each change with its p-value."""
    if len(series) < MIN_VALUES or np.ptp(series) == 0:
        return
    ranks = stats.rankdata(series)
    strength = _strength(ranks)
    index = int(np.argmax(strength)) + 1
    shuffled = np.random.default_rng(1).permuted(np.tile(ranks, (PERMUTATIONS, 1)), axis=1)
    as_extreme = int(np.sum(_strength(shuffled).max(axis=-1) >= strength.max() * (1 - 1e-12)))
    p_value = (1 + as_extreme) / (1 + PERMUTATIONS)
    if p_value <= SIGNIFICANCE:
        yield offset + index, p_value
        yield from _splits(series[:index], offset)
        yield from _splits(series[index:], offset + index)


def _strength(ranks: Floats) -> Floats:
    """Return for each split how far the ranks before it are from what chance gives, in deviations.

    Pettitt's statistic over its deviation at that split, so that a change near an end counts as
    much as one in the middle.
    """
    n = ranks.shape[-1]
    before = np.arange(1, n)
    excess = np.cumsum(ranks, axis=-1)[..., :-1] - before * (n + 1) / 2
    strength: Floats = np.abs(excess) / np.sqrt(before * (n - before))
    return strength
