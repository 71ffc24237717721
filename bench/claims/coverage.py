"""How often the interval of a number of cells has the number that a repetition reports.

Of each campaign the cells' true ratios, the noise of each cell and the packets that a block loses
are drawn anew; a second campaign of the same cells is the repetition. Cells of a block are
correlated in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from httpbed.addons.claims import repetition
from httpbed.addons.claims.cell_location import CellLocation
from httpbed.addons.claims.region import Region
from httpbed.results import location

SIDE = 0.025
FASTER = Region(high=1.0, high_open=True)
CENTRE, SPREAD = -0.1, 0.2
"""Of the logarithms of the true ratios."""


@dataclass(frozen=True)
class Coverage:
    """What the intervals of some campaigns were."""

    cells: int
    blocks: int
    correlation: float
    covered: float
    """Share of the campaigns whose interval has the repetition's number."""
    width: float
    """Mean width, as a share of the cells."""
    estimated: tuple[float, float, float]
    """The estimated correlation: first decile, mean, last decile."""


def simulated(cells: int, blocks: int, correlation: float, campaigns: int) -> Coverage:
    """Draw campaigns with a repetition each."""
    random = np.random.default_rng((20260104, cells, blocks))
    covered, widths, estimates = 0, list[float](), list[float]()
    for _ in range(campaigns):
        centres = random.normal(CENTRE, SPREAD, cells)
        noise = 0.1 * np.exp(random.normal(0, 0.5, cells))
        first, second = (_times(random, centres, noise, blocks, correlation) for _ in range(2))
        located = [*_located(first)]
        number = repetition.number_inside(located, FASTER, blocks)
        low, high = number.low(SIDE), number.high(SIDE)
        faster = int((np.median(second[0], axis=1) < np.median(second[1], axis=1)).sum())
        covered += low <= faster <= high
        widths.append((high - low) / cells)
        estimates.append(repetition.correlation(located))
    deciles = np.quantile(estimates, [0.1, 0.9])
    return Coverage(
        cells,
        blocks,
        correlation,
        covered / campaigns,
        float(np.mean(widths)),
        (float(deciles[0]), float(np.mean(estimates)), float(deciles[1])),
    )


def _times(
    random: np.random.Generator,
    centres: np.ndarray,
    noise: np.ndarray,
    blocks: int,
    correlation: float,
) -> np.ndarray:
    """Return the times by version, cell and block."""
    own = random.standard_normal((2, centres.size, blocks))
    common = random.standard_normal((2, 1, blocks))
    mixed = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    times = np.exp(mixed * (noise / math.sqrt(2))[None, :, None])
    times[0] *= np.exp(centres)[:, None]
    return times


def _located(times: np.ndarray) -> Iterator[CellLocation]:
    """Locate each cell's ratio, as a claim about shares does."""
    blocks = tuple(range(times.shape[2]))
    for of, to in zip(*times, strict=True):
        values = np.log(of / to)
        apart = float(np.var(np.log(of), ddof=1) + np.var(np.log(to), ddof=1))
        middle = math.log(float(np.median(of) / np.median(to)))
        centre = location.centre(values)
        yield CellLocation(centre, centre, "logarithm", False, values, blocks, middle, apart)
