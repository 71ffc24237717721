"""The treatments of an experiment: a union of full factorials, less exclusions, at a scale.

Without groups the design is one full factorial: every combination of all levels (Fisher 1935). Many
questions need fewer treatments: all congestion controls at one size, and all sizes with one
congestion control. A **group** is the full factorial of some levels, and the design is the union of
its groups. A treatment in several groups counts once. **Exclusions** remove treatments that cannot
run, each with a reason. A **scale** selects how much of the design one run executes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from httpbed.base import spellings, units
from httpbed.base.value import Value
from httpbed.experiment.impairments.queue import parse_queue_limit

FactorName = Annotated[str, Field(pattern=spellings.FACTOR)]
LevelText = Annotated[str, Field(min_length=1, max_length=200)]
SomeLevels = dict[FactorName, list[LevelText]]
ScaleName = Literal["smoke", "standard", "paper", "full"]
MAX_BLOCKS = 10_000
Blocks = Annotated[int, Field(ge=1, le=MAX_BLOCKS, strict=True)]
"""A number of blocks."""
Factors = Mapping[str, Sequence[str]]
Treatment = dict[str, str]
"""A level for each factor."""


class Group(Value):
    """A full factorial of some levels."""

    name: str = Field(min_length=1, max_length=80)
    """Name of the group in the report."""
    levels: SomeLevels = Field(default_factory=dict)
    """The levels to combine. A factor that is not named here has all its levels."""


class Exclusion(Value):
    """Treatments that the design leaves out."""

    levels: SomeLevels = Field(min_length=1)
    """Leaves out treatments that have, for every factor named here, one of its levels here."""
    reason: str = Field(min_length=1)
    """Why these treatments cannot run."""

    def matches(self, treatment: Mapping[str, str]) -> bool:
        """Whether this exclusion leaves out a treatment."""
        return selects(self.levels, treatment)


class PublishedDesign(Value):
    """How much a publication measured."""

    cells: int = Field(ge=1, strict=True)
    """Number of its cells, those of programs that are absent here among them."""
    runs: int | None = Field(default=None, ge=1, strict=True)
    """Number of its runs; left out if it does not say."""


class Scale(Value):
    """How much of a design one run executes."""

    replicates: Blocks
    """Number of blocks."""
    levels: SomeLevels = Field(default_factory=dict)
    """The levels to run. A factor that is not named here has all its levels."""
    parts: list[SomeLevels] = Field(default_factory=list)
    """Of these treatments, the scale runs those that match at least one part: that have, for every
    factor named in the part, one of its levels there. Default: all."""
    published: PublishedDesign | None = None
    """What the publication measured, where the scale is a publication's own design."""
    absent: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list)
    """What the publication has and this scale lacks, each with the reason."""

    def matches(self, treatment: Mapping[str, str]) -> bool:
        """Whether this scale runs a treatment of the design."""
        return has(treatment, self.levels) and any(
            has(treatment, part) for part in self.parts or [{}]
        )


def has(treatment: Mapping[str, str], levels: SomeLevels) -> bool:
    """Whether a treatment has, for each of its factors named in ``levels``, one of the levels."""
    return all(treatment[name] in some for name, some in levels.items() if name in treatment)


def treatments(
    factors: Factors, groups: Sequence[Group] = (), exclusions: Sequence[Exclusion] = ()
) -> Iterator[Treatment]:
    """Yield every treatment once, in the order of the factors' levels, the first varying slowest.

    Without groups, the design is the full factorial.
    """
    excluded = Exclusions(exclusions)
    for levels in _union(factors, _factorials(factors, groups)):
        treatment = dict(zip(factors, levels, strict=True))
        if not any(excluded.matching(treatment)):
            yield treatment


def scaled(groups: Sequence[Group], scale: Scale) -> list[Group]:
    """Return the groups of a scale's design: the intersection of each group with each part."""
    if not scale.parts:
        return [*groups]
    return [
        Group(name=group.name, levels=_common(group.levels, part))
        for group in groups or [Group(name="the scale's parts")]
        for part in scale.parts
    ]


def _common(levels: SomeLevels, other: SomeLevels) -> SomeLevels:
    """Return the levels that both have; a factor that only one names has its levels there."""
    both = {
        name: [level for level in levels[name] if level in other[name]]
        for name in levels.keys() & other
    }
    return {**levels, **other, **both}


def most(factors: Factors, groups: Sequence[Group] = ()) -> int:
    """Return an upper bound on the number of treatments, without generating them.

    A treatment in two groups counts twice, and exclusions do not count.
    """
    return sum(
        math.prod(map(len, factorial.values())) for factorial in _factorials(factors, groups)
    )


def narrowed(factors: Factors, kept: Factors) -> dict[str, list[str]]:
    """Return the factors with only the kept levels, in the factors' own order."""
    chosen = {name: frozenset(levels) for name, levels in kept.items()}
    return {
        name: [level for level in levels if name not in kept or level in chosen[name]]
        for name, levels in factors.items()
    }


class Exclusions:
    """Finds the exclusions that match a treatment, indexed by the levels of one factor of each."""

    def __init__(self, exclusions: Sequence[Exclusion]) -> None:
        self._by_level: dict[str, dict[str, list[Exclusion]]] = {}
        for exclusion in exclusions:
            name, levels = min(exclusion.levels.items(), key=lambda item: len(item[1]))
            for level in dict.fromkeys(levels):
                self._by_level.setdefault(name, {}).setdefault(level, []).append(exclusion)

    def matching(self, treatment: Mapping[str, str]) -> Iterator[Exclusion]:
        """Yield the exclusions that leave out a treatment."""
        for name, by_level in self._by_level.items():
            for exclusion in by_level.get(treatment.get(name, ""), ()):
                if exclusion.matches(treatment):
                    yield exclusion


def _factorials(factors: Factors, groups: Sequence[Group]) -> list[Factors]:
    """Return each group's levels of all factors, in time proportional to the levels it names."""
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
    return {
        name: {level: rank for rank, level in enumerate(levels)} for name, levels in factors.items()
    }


def _union(factors: Factors, factorials: Sequence[Factors]) -> Iterator[tuple[str, ...]]:
    if len(factorials) == 1:
        yield from itertools.product(*factorials[0].values())
        return
    ranks = [*_ranks(factors).values()]
    union = {
        levels for factorial in factorials for levels in itertools.product(*factorial.values())
    }
    yield from sorted(
        union, key=lambda levels: [rank[level] for rank, level in zip(ranks, levels, strict=True)]
    )


# The key of a treatment, by which treatments are counted, grouped and looked up.


TreatmentKey = tuple[str, ...]
"""A treatment: its levels in the order of the experiment's factors."""


def treatment_key(levels: Mapping[str, Any], factors: Iterable[str] | None = None) -> TreatmentKey:
    """Return a treatment's key.

    Args:
        levels: Its levels, in the order of the factors; or with further members, such as a row of a
            table.
        factors: The names of the factors in their order; needed unless ``levels`` has only them.
    """
    return tuple(levels.values() if factors is None else (levels[name] for name in factors))


# Selections: levels of some factors, by which tables of an experiment file choose treatments.


def as_list(value: object) -> object:
    """Return a single text, or a single table, as a list of one."""
    return [value] if isinstance(value, str | Mapping) else value


class OneOrSeveral:
    """Makes the JSON Schema of a list accept one of its items, too."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        array = handler(core_schema)
        return {"anyOf": [array["items"], array]}


LevelOrLevels = Annotated[
    list[LevelText], Field(min_length=1), BeforeValidator(as_list), OneOrSeveral()
]
"""One level of a factor, or several."""
FactorNames = Annotated[
    list[FactorName], Field(max_length=6), BeforeValidator(as_list), OneOrSeveral()
]
Selection = dict[FactorName, LevelOrLevels]
"""Levels of some factors."""


def selects(selection: Mapping[str, Collection[str]], treatment: Mapping[str, str]) -> bool:
    """Whether a treatment has, of every factor that is named, one of the levels."""
    return all(
        name in treatment and treatment[name] in levels for name, levels in selection.items()
    )


# Levels of a factor as numbers on an axis.


_READERS: tuple[tuple[Callable[[str], float], float, str], ...] = (
    (units.parse_share, 0.01, "%"),
    (units.parse_duration, 1e-3, "ms"),
    (units.parse_rate, 1e6, "Mbit/s"),
    (units.parse_size, 1e3, "kB"),
    (lambda text: parse_queue_limit(text).amount, 1.0, "packets or BDP"),
    (float, 1.0, ""),
)
"""What reads a level, what one of the axis's unit is, and that unit."""


@dataclass(frozen=True)
class NumericLevels:
    """Levels as numbers of one unit."""

    places: Mapping[str, float]
    """By level, in ``unit``."""
    unit: str
    """Empty for plain numbers."""


def numeric_levels(levels: Iterable[str]) -> NumericLevels | None:
    """Return the levels as numbers; None if one is no number, or if their units differ in kind."""
    texts = tuple(levels)
    for read, factor, unit in _READERS:
        try:
            places = {text: read(text) / factor for text in texts}
        except ValueError:
            continue
        if all(map(math.isfinite, places.values())):
            return NumericLevels(places, unit)
    return None
