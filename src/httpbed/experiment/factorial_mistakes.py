"""What can be wrong with groups, exclusions and scales, found in a document that may have more.

Entries that are malformed are told by the models and passed over here.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from httpbed.experiment import factorial
from httpbed.experiment.errors import Mistake
from httpbed.experiment.factorial import (
    Exclusion,
    Exclusions,
    Factors,
    Group,
    Scale,
    ScaleName,
    Treatment,
)
from httpbed.experiment.value import Value

_Entry = TypeVar("_Entry", bound=Value)
Known = Mapping[str, Mapping[str, None]]
"""The levels of each factor, to be looked up."""
MOST_LISTED = 20
"""Names that a message lists, of what would be right."""


@dataclass(frozen=True)
class Crossing:
    """What a document says of its design, as far as it can be read."""

    factors: Factors
    groups: Mapping[int, Group]
    """By their place in the document."""
    exclusions: Mapping[int, Exclusion]
    scales: Mapping[str, Scale]
    base: Mapping[str, str]
    """Levels of the treatments that others are compared with."""
    whole: bool
    """Whether nothing had to be passed over."""

    def most(self) -> int:
        """Bound the number of treatments."""
        return factorial.most(self.factors, [*self.groups.values()])

    def treatments(self) -> tuple[Treatment, ...]:
        """List what can be known of them; none where a group cannot be read."""
        if not self.whole:
            return ()
        groups, exclusions = [*self.groups.values()], [*self.exclusions.values()]
        return tuple(factorial.treatments(self.factors, groups, exclusions))


def readable(document: Mapping[str, Any], factors: Factors) -> Crossing:
    """Read what can be read."""
    groups, exclusions = (_entries(document.get(name, [])) for name in ("groups", "exclude"))
    scales, report = _table(document.get("scales")), _table(document.get("report"))
    known_scales = {name: said for name, said in scales.items() if name in get_args(ScaleName)}
    read_groups, read_exclusions = _readable(Group, groups), _readable(Exclusion, exclusions)
    return Crossing(
        factors,
        read_groups,
        read_exclusions,
        _readable(Scale, known_scales),
        _table(report.get("base")),
        whole=len(read_groups) == len(groups) and len(read_exclusions) == len(exclusions),
    )


def mistakes(said: Crossing, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    """Yield what is wrong with a design."""
    yield from _namesakes(said)
    known = {name: dict.fromkeys(levels) for name, levels in said.factors.items()}
    for place, levels in _choices(said):
        yield from _strangers(known, place, levels)
    if said.whole and said.most() and not treatments:
        yield Mistake("exclude", "leaves no treatment", "exclude less")
    elif treatments:
        yield from _unused(said, treatments)
        yield from _idle(said)
        yield from _nothing_left(said, treatments)


def listed(names: Collection[str]) -> str:
    """Write names into a message: the first of them, and how many more there are."""
    some = ", ".join(itertools.islice(names, MOST_LISTED))
    return some if len(names) <= MOST_LISTED else f"{some} and {len(names) - MOST_LISTED} more"


def _entries(said: object) -> dict[int, object]:
    return dict(enumerate(said)) if isinstance(said, list) else {0: said}


def _table(said: object) -> Mapping[str, Any]:
    return said if isinstance(said, Mapping) else {}


def _readable(model: type[_Entry], entries: Mapping[Any, object]) -> dict[Any, _Entry]:
    found = {}
    for place, said in entries.items():
        try:
            found[place] = model.model_validate(said)
        except ValidationError:
            continue
    return found


def _choices(said: Crossing) -> Iterator[tuple[str, Mapping[str, list[str]]]]:
    """Yield every place that names levels."""
    for index, group in said.groups.items():
        yield f"groups[{index}].levels", group.levels
    for index, exclusion in said.exclusions.items():
        yield f"exclude[{index}].levels", exclusion.levels
    for name, scale in said.scales.items():
        yield f"scales.{name}.levels", scale.levels


def _strangers(factors: Known, place: str, choice: Mapping[str, list[str]]) -> Iterator[Mistake]:
    for name, levels in choice.items():
        if name not in factors:
            known = f"known: {listed(factors)}" if factors else "there is no [factors] table"
            yield Mistake(f"{place}.{name}", f"unknown factor {name!r}; {known}")
            continue
        for index, level in enumerate(levels):
            if level not in factors[name]:
                reason = f"{level!r} is not a level of {name}; known: {listed(factors[name])}"
                yield Mistake(f"{place}.{name}[{index}]", reason)
        if not levels:
            yield Mistake(f"{place}.{name}", "names no level", "name at least one, or delete it")
        if len(set(levels)) != len(levels):
            yield Mistake(f"{place}.{name}", "a level stands twice", "keep one of them")


def _namesakes(said: Crossing) -> Iterator[Mistake]:
    named: dict[str, int] = {}
    for index, group in said.groups.items():
        first = named.setdefault(group.name, index)
        if index != first:
            reason = f"groups[{first}] is also named {group.name!r}"
            yield Mistake(f"groups[{index}].name", reason, "give each its own name")


def _unused(said: Crossing, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    """Find levels that no treatment has."""
    for name, levels in said.factors.items():
        used = {treatment[name] for treatment in treatments}
        grouped = _grouped(said, name)
        for level in levels:
            if level not in used:
                reason = (
                    "is excluded from every treatment" if level in grouped else "is in no group"
                )
                yield Mistake(f"factors.{name}", f"{level!r} {reason}", "use it, or delete it")


def _grouped(said: Crossing, name: str) -> set[str]:
    """Return the levels of a factor that some group has; without groups, all."""
    levels = said.factors[name]
    return {
        level
        for group in said.groups.values() or [None]
        for level in (levels if group is None else group.levels.get(name, levels))
    }


def _idle(said: Crossing) -> Iterator[Mistake]:
    """Find groups of which nothing is left, and exclusions that leave nothing out."""
    excluded = Exclusions([*said.exclusions.values()])
    for index, group in said.groups.items():
        own = factorial.treatments(said.factors, [group])
        if all(any(excluded.matching(treatment)) for treatment in own):
            reason = f"{group.name!r} has no treatment that is not excluded"
            yield Mistake(f"groups[{index}]", reason, "delete it, or exclude less")
    everything = factorial.treatments(said.factors, [*said.groups.values()])
    busy = {id(one) for treatment in everything for one in excluded.matching(treatment)}
    for index, exclusion in said.exclusions.items():
        if id(exclusion) not in busy:
            reason = "no treatment has such levels"
            yield Mistake(f"exclude[{index}]", reason, "correct its levels, or delete it")


def _nothing_left(said: Crossing, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    """Find scales that leave nothing, and bases that no treatment has: at a scale, or at all."""
    known = {
        name: level for name, level in said.base.items() if level in said.factors.get(name, ())
    }
    if not any(known.items() <= treatment.items() for treatment in treatments):
        yield Mistake("report.base", "no treatment has these levels", "name those of one")
        return
    for name, scale in said.scales.items():
        left = [treatment for treatment in treatments if _is_at(scale, treatment)]
        if not left:
            yield Mistake(f"scales.{name}", "leaves no treatment", "let it have more levels")
        elif not any(known.items() <= treatment.items() for treatment in left):
            reason = "leaves out the base that the report compares with"
            yield Mistake(f"scales.{name}", reason, "let it have those levels, too")


def _is_at(scale: Scale, treatment: Treatment) -> bool:
    return all(
        treatment[name] in levels for name, levels in scale.levels.items() if name in treatment
    )
