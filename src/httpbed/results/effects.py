"""What each factor did: each of its levels against one reference level, all other levels equal.

The pairs of treatments that differ in one factor alone are its **cells**. A factor that is only
varied together with others has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.results.comparison import Ratio, compare
from httpbed.results.sample import Sample


@dataclass(frozen=True)
class LevelEffect:
    """One level of a factor against the reference."""

    level: str
    ratios: tuple[Ratio, ...]
    """One for each cell, in the order of the treatments."""


@dataclass(frozen=True)
class FactorEffect:
    """One factor with several levels."""

    factor: str
    reference: str
    """The base's level, else the first level that has cells."""
    levels: tuple[LevelEffect, ...]
    """The other levels that have cells."""


def of_factors(samples: Sequence[Sample], base: Mapping[str, str]) -> tuple[FactorEffect, ...]:
    """Compare the levels of each factor that has several; factors of the base come first."""
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
    ratios: dict[str, list[Ratio]] = {}
    for sample in samples:
        level = sample.levels[factor]
        other = by_key.get(treatment_key({**sample.levels, factor: reference}))
        if level != reference and other and (ratio := compare(sample, other)):
            ratios.setdefault(level, []).append(ratio)
    return tuple(LevelEffect(level, tuple(found)) for level, found in ratios.items())
