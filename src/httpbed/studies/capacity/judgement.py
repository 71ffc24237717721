"""From the loads that ran so many side by side to how many may; pure.

A load is disturbed where others beside it make its figures worse than alone. So the median with k
side by side is compared with that of one at a time, for each HTTP version, and the worst of them
counts. A number is undisturbed where that ratio is within the margin, few loads were invalid
because the machine was busy, and all smaller numbers are undisturbed, too. The ratio's interval is
the bootstrap's (Efron and Tibshirani 1993, percentile, 95 %) of the ratio of medians, for loads at
different numbers are not pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from httpbed.store.capacity_records import METRICS

MARGIN = 1.05
"""Figures may be a twentieth worse: less than what a comparison of ten loads can tell."""
MOST_STRAINED = 0.25
"""Share of loads that may be invalid because the machine was busy: they are run again, and more of
them cost more than running side by side saves."""
LEAST_LOADS = 3
"""Of each HTTP version, that are compared."""
RESAMPLES = 4000
INTERVAL = (2.5, 97.5)
SEED = 1


@dataclass(frozen=True)
class Seen:
    """One load that ran beside others."""

    version: str
    values: Mapping[str, float]
    """Of each metric; empty where it failed. Those of a load that is invalid because the machine
    was busy are among them: how much worse they are is what is asked."""
    strained: bool
    """Whether the machine was too busy, by the validity checks."""


@dataclass(frozen=True)
class Worsening:
    """How much worse a metric was than alone, over the HTTP version where it was worst."""

    version: str
    ratio: float
    low: float
    high: float

    @property
    def is_disturbed(self) -> bool:
        """Whether it is worse by more than the margin."""
        return self.ratio > MARGIN


@dataclass(frozen=True)
class Level:
    """What was seen with so many side by side."""

    at_once: int
    loads: int
    strained: int
    """Those that were invalid because the machine was busy."""
    failed: int
    """Those that have no values, for whatever reason."""
    loads_per_minute: float
    medians: Mapping[str, float]
    """Of each metric, in seconds, over all versions; without those that no load has."""
    worsening: Mapping[str, Worsening]
    """By metric; empty for one at a time, and where too few loads have values to be compared."""

    def is_undisturbed(self, metric: str) -> bool:
        """Whether this metric may be measured so; one at a time there is nothing that disturbs."""
        if self.at_once == 1:
            return True
        worse = self.worsening.get(metric)
        sound = not self.failed and self.strained <= MOST_STRAINED * self.loads
        return sound and worse is not None and not worse.is_disturbed

    def as_json(self) -> dict[str, Any]:
        """Return it ready for :func:`json.dumps`."""
        return asdict(self)


def level(at_once: int, seen: Sequence[Seen], alone: Sequence[Seen], lasted_s: float) -> Level:
    """Judge the loads that ran ``at_once``, which took ``lasted_s``, by those that ran alone."""
    return Level(
        at_once=at_once,
        loads=len(seen),
        strained=sum(one.strained for one in seen),
        failed=sum(not one.values for one in seen),
        loads_per_minute=60 * len(seen) / lasted_s if lasted_s else 0.0,
        medians=dict(_medians(seen)),
        worsening=dict(_compared(seen, alone)) if at_once > 1 else {},
    )


def undisturbed(levels: Iterable[Level], metric: str) -> int:
    """Return the largest number side by side up to which none is disturbed; at least 1."""
    most = 1
    for one in sorted(levels, key=lambda level: level.at_once):
        if not one.is_undisturbed(metric):
            break
        most = one.at_once
    return most


def _medians(seen: Sequence[Seen]) -> Iterator[tuple[str, float]]:
    for metric in METRICS:
        if (values := _values(seen, metric)).size:
            yield metric, float(np.median(values))


def _compared(seen: Sequence[Seen], alone: Sequence[Seen]) -> Iterator[tuple[str, Worsening]]:
    """Yield each metric with how much worse it was over the HTTP version where it was worst."""
    versions = sorted({one.version for one in alone})
    for metric in METRICS:
        pairs = [[_values(some, metric, version) for some in (seen, alone)] for version in versions]
        if all(values.size >= LEAST_LOADS for pair in pairs for values in pair):
            found = [
                _worsening(version, *pair) for version, pair in zip(versions, pairs, strict=True)
            ]
            yield metric, max(found, key=lambda worse: worse.ratio)


def _worsening(version: str, beside: Any, base: Any) -> Worsening:
    draw = np.random.Generator(np.random.PCG64(SEED))
    medians = [
        np.median(draw.choice(values, (RESAMPLES, values.size)), axis=1)
        for values in (beside, base)
    ]
    low, high = np.percentile(medians[0] / medians[1], INTERVAL)
    ratio = float(np.median(beside) / np.median(base))
    return Worsening(version, ratio, float(low), float(high))


def _values(seen: Iterable[Seen], metric: str, version: str | None = None) -> Any:
    return np.array(
        [
            one.values[metric]
            for one in seen
            if metric in one.values and version in {None, one.version}
        ]
    )
