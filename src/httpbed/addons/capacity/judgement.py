"""Judges how many page loads may run side by side.

Loads are disturbed if their figures are worse than those of loads that ran alone. So the median of
k loads side by side is divided by that of single loads, for each HTTP version; the worst ratio
counts. A number is undisturbed if that ratio is within the margin, few loads were invalid because
the machine was busy, and all smaller numbers are undisturbed, too. The ratio's interval is a
percentile bootstrap of the ratio of medians (Efron and Tibshirani 1993, 95 %), because loads are
not paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from httpbed.addons.capacity.capacity_records import METRICS
from httpbed.addons.capacity.experiment import LEAST_LOADS
from httpbed.results.estimate import CONFIDENCE

MARGIN = 1.05
"""Figures may be 5 % worse, which is less than a comparison of ten loads can detect."""
MOST_STRAINED = 0.25
"""Share of loads that may be invalid because of a busy machine. They are retried, and more retries
cost more time than running side by side saves."""
RESAMPLES = 4000
SEED = 1


@dataclass(frozen=True)
class ConcurrentLoad:
    """One load that ran at the same time as others."""

    version: str
    values: Mapping[str, float]
    """Values by metric; empty for a failed load. Loads that are invalid because of a busy machine
    have values, too: how much worse they are is the question."""
    strained: bool
    """Whether the validity checks found the machine too busy."""


@dataclass(frozen=True)
class Worsening:
    """How much worse a metric is than alone, in the HTTP version where it is worst."""

    version: str
    ratio: float
    low: float
    high: float

    @property
    def is_disturbed(self) -> bool:
        """Whether the ratio exceeds the margin."""
        return self.ratio > MARGIN


@dataclass(frozen=True)
class ConcurrencyLevel:
    """The result of one number of loads side by side."""

    at_once: int
    loads: int
    strained: int
    """Loads that were invalid because the machine was busy."""
    failed: int
    """Loads without values."""
    loads_per_minute: float
    medians: Mapping[str, float]
    """Medians by metric in seconds, over all HTTP versions; metrics without values are left out."""
    worsening: Mapping[str, Worsening]
    """By metric; empty for single loads, and if too few loads have values."""

    def is_undisturbed(self, metric: str) -> bool:
        """Whether a metric can be measured so; single loads are undisturbed by definition."""
        if self.at_once == 1:
            return True
        worse = self.worsening.get(metric)
        sound = not self.failed and self.strained <= MOST_STRAINED * self.loads
        return sound and worse is not None and not worse.is_disturbed

    def as_json(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`."""
        return asdict(self)


def level(
    at_once: int, seen: Sequence[ConcurrentLoad], alone: Sequence[ConcurrentLoad], lasted_s: float
) -> ConcurrencyLevel:
    """Judge loads that ran ``at_once`` and took ``lasted_s`` in all, by those that ran alone."""
    return ConcurrencyLevel(
        at_once=at_once,
        loads=len(seen),
        strained=sum(one.strained for one in seen),
        failed=sum(not one.values for one in seen),
        loads_per_minute=60 * len(seen) / lasted_s if lasted_s else 0.0,
        medians=dict(_medians(seen)),
        worsening=dict(_compared(seen, alone)) if at_once > 1 else {},
    )


def undisturbed(levels: Iterable[ConcurrencyLevel], metric: str) -> int:
    """Return the largest number such that it and all smaller ones are undisturbed; at least 1."""
    most = 1
    for one in sorted(levels, key=lambda level: level.at_once):
        if not one.is_undisturbed(metric):
            break
        most = one.at_once
    return most


def _medians(seen: Sequence[ConcurrentLoad]) -> Iterator[tuple[str, float]]:
    for metric in METRICS:
        if (values := _values(seen, metric)).size:
            yield metric, float(np.median(values))


def _compared(
    seen: Sequence[ConcurrentLoad], alone: Sequence[ConcurrentLoad]
) -> Iterator[tuple[str, Worsening]]:
    """Yield each metric with its worsening in the HTTP version where it is worst."""
    versions = sorted({one.version for one in alone})
    for metric in METRICS:
        pairs = [[_values(some, metric, version) for some in (seen, alone)] for version in versions]
        if all(values.size >= LEAST_LOADS for pair in pairs for values in pair):
            found = [
                _worsening(version, *pair) for version, pair in zip(versions, pairs, strict=True)
            ]
            yield metric, max(found, key=lambda worse: worse.ratio)


def _worsening(version: str, beside: Any, base: Any) -> Worsening:
    found = stats.bootstrap(
        (beside, base),
        _ratio,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Worsening(version, float(_ratio(beside, base)), float(found.low), float(found.high))


def _ratio(beside: Any, base: Any, axis: int = -1) -> Any:
    return np.median(beside, axis=axis) / np.median(base, axis=axis)


def _values(seen: Iterable[ConcurrentLoad], metric: str, version: str | None = None) -> Any:
    return np.array(
        [
            one.values[metric]
            for one in seen
            if metric in one.values and version in {None, one.version}
        ]
    )
