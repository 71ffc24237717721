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

from httpbed.model.value import Value

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
    for levels in _union(factors, _crossings(factors, groups)):
        treatment = dict(zip(factors, levels, strict=True))
        if not any(exclusion.matches(treatment) for exclusion in exclusions):
            yield treatment


def most(factors: Factors, groups: Sequence[Group] = ()) -> int:
    """Bound the number of treatments, without making them.

    Those in two groups count twice, and nothing is excluded.
    """
    return sum(math.prod(map(len, some.values())) for some in _crossings(factors, groups))


def narrowed(factors: Factors, kept: Factors) -> dict[str, list[str]]:
    """Keep some levels of some factors, in the factors' own order."""
    return {
        name: [level for level in levels if level in kept.get(name, levels)]
        for name, levels in factors.items()
    }


def _crossings(factors: Factors, groups: Sequence[Group]) -> list[Factors]:
    return [narrowed(factors, group.levels) for group in groups] or [factors]


def _union(factors: Factors, crossings: Sequence[Factors]) -> Iterator[tuple[str, ...]]:
    if len(crossings) == 1:
        yield from itertools.product(*crossings[0].values())
        return
    ranks = [{level: rank for rank, level in enumerate(levels)} for levels in factors.values()]
    found = {levels for some in crossings for levels in itertools.product(*some.values())}
    yield from sorted(
        found, key=lambda levels: [r[one] for r, one in zip(ranks, levels, strict=True)]
    )
