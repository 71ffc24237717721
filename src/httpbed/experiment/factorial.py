"""Which treatments an experiment has: crossed groups, less what is excluded, at a scale.

Without groups a design is one crossing: every combination of all levels (Fisher 1935). Many
questions need less: the congestion controls at one size, the sizes with one congestion control. A
**group** is such a crossing of some levels, and the design the union of its groups; what is in
several of them is one treatment. Groups say what is wanted, **exclusions** what cannot be, each
with its reason, and a **scale** how much of it is run this time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from httpbed.experiment.value import Value

FactorName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
LevelText = Annotated[str, Field(min_length=1, max_length=200)]
"""A level's text or name."""
Some = dict[FactorName, list[LevelText]]
"""Some levels of some factors."""
ScaleName = Literal["smoke", "standard", "full"]
Factors = Mapping[str, Sequence[str]]
Treatment = dict[str, str]
"""A level for each factor."""


class Group(Value):
    """A crossing of some levels."""

    name: str = Field(min_length=1, max_length=80)
    """What it is for."""
    levels: Some = Field(default_factory=dict)
    """The levels that are crossed; of a factor that is not named here, all."""


class Exclusion(Value):
    """Treatments that are left out."""

    levels: Some = Field(min_length=1)
    """Left out is what has one of these levels of every factor that is named here."""
    reason: str = Field(min_length=1)
    """Why."""

    def matches(self, treatment: Mapping[str, str]) -> bool:
        """Whether a treatment is left out by it."""
        return all(treatment.get(name) in levels for name, levels in self.levels.items())


class Scale(Value):
    """How much of a design is run."""

    replicates: int = Field(ge=1, le=10_000, strict=True)
    """Number of blocks."""
    levels: Some = Field(default_factory=dict)
    """The levels that are run; of a factor that is not named here, all."""


def treatments(
    factors: Factors, groups: Sequence[Group] = (), exclusions: Sequence[Exclusion] = ()
) -> Iterator[Treatment]:
    """Yield every treatment once, in the order of the factors' levels, the first varying slowest.

    No groups are one crossing of everything.
    """
    excluded = Exclusions(exclusions)
    for levels in _union(factors, _crossings(factors, groups)):
        treatment = dict(zip(factors, levels, strict=True))
        if not any(excluded.matching(treatment)):
            yield treatment


def most(factors: Factors, groups: Sequence[Group] = ()) -> int:
    """Bound the number of treatments, without making them.

    Those in two groups count twice, and nothing is excluded.
    """
    return sum(math.prod(map(len, some.values())) for some in _crossings(factors, groups))


def narrowed(factors: Factors, kept: Factors) -> dict[str, list[str]]:
    """Keep some levels of some factors, in the factors' own order."""
    chosen = {name: frozenset(levels) for name, levels in kept.items()}
    return {
        name: [level for level in levels if name not in kept or level in chosen[name]]
        for name, levels in factors.items()
    }


class Exclusions:
    """Finds those that match a treatment, by the level of one factor that each of them names."""

    def __init__(self, exclusions: Sequence[Exclusion]) -> None:
        self._by_level: dict[str, dict[str, list[Exclusion]]] = {}
        for exclusion in exclusions:
            name, levels = min(exclusion.levels.items(), key=lambda item: len(item[1]))
            for level in dict.fromkeys(levels):
                self._by_level.setdefault(name, {}).setdefault(level, []).append(exclusion)

    def matching(self, treatment: Mapping[str, str]) -> Iterator[Exclusion]:
        """Yield those that leave a treatment out."""
        for name, by_level in self._by_level.items():
            for exclusion in by_level.get(treatment.get(name, ""), ()):
                if exclusion.matches(treatment):
                    yield exclusion


def _crossings(factors: Factors, groups: Sequence[Group]) -> list[Factors]:
    """Return what each group crosses, in time proportional to the levels that it names."""
    ranks = _ranks(factors) if groups else {}
    return [
        {
            name: sorted(ranks[name].keys() & group.levels[name], key=ranks[name].__getitem__)
            if name in group.levels
            else levels
            for name, levels in factors.items()
        }
        for group in groups
    ] or [factors]


def _ranks(factors: Factors) -> dict[str, dict[str, int]]:
    return {name: {one: rank for rank, one in enumerate(said)} for name, said in factors.items()}


def _union(factors: Factors, crossings: Sequence[Factors]) -> Iterator[tuple[str, ...]]:
    if len(crossings) == 1:
        yield from itertools.product(*crossings[0].values())
        return
    ranks = [*_ranks(factors).values()]
    found = {levels for some in crossings for levels in itertools.product(*some.values())}
    yield from sorted(
        found, key=lambda levels: [r[one] for r, one in zip(ranks, levels, strict=True)]
    )
