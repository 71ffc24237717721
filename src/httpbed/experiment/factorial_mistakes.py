"""Mistakes in the choice of treatments, in the size of the design, and in the ``[report]`` table.

Each has its place in the file. Malformed entries are skipped here, because the models report them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from httpbed.base.errors import Mistake, did_you_mean, first_names
from httpbed.base.value import Value
from httpbed.experiment import factorial
from httpbed.experiment.document import table
from httpbed.experiment.factorial import (
    Exclusion,
    Exclusions,
    Factors,
    Group,
    Scale,
    ScaleName,
    Treatment,
    as_list,
)
from httpbed.experiment.metric import METRICS
from httpbed.experiment.scenario import Scenario

_Entry = TypeVar("_Entry", bound=Value)


@dataclass(frozen=True)
class PartialDesign:
    """The part of a document's design that can be read."""

    factors: Factors
    groups: Mapping[int, Group]
    """By index in the document."""
    exclusions: Mapping[int, Exclusion]
    scales: Mapping[str, Scale]
    base: Mapping[str, str]
    """Levels of the base treatments of the report."""
    whole: bool
    """Whether no group or exclusion was skipped."""
    unreadable: Collection[str]
    """Factors with mistakes of their own; no other mistake of theirs is reported."""

    def most(self) -> int:
        """Return an upper bound on the number of treatments."""
        return factorial.most(self.factors, [*self.groups.values()])

    def treatments(self) -> tuple[Treatment, ...]:
        """Return the treatments; none if a group or an exclusion cannot be read."""
        if not self.whole:
            return ()
        groups, exclusions = [*self.groups.values()], [*self.exclusions.values()]
        return tuple(factorial.treatments(self.factors, groups, exclusions))


def readable_design(
    document: Mapping[str, Any], factors: Factors, unreadable: Collection[str]
) -> PartialDesign:
    """Return the readable part of a document's design."""
    groups, exclusions = (_entries(document.get(name, [])) for name in ("groups", "exclude"))
    scales, report = table(document.get("scales")), table(document.get("report"))
    known_scales = {name: scale for name, scale in scales.items() if name in get_args(ScaleName)}
    read_groups, read_exclusions = _readable(Group, groups), _readable(Exclusion, exclusions)
    return PartialDesign(
        factors,
        read_groups,
        read_exclusions,
        _readable(Scale, known_scales),
        table(report.get("base")),
        whole=len(read_groups) == len(groups) and len(read_exclusions) == len(exclusions),
        unreadable=unreadable,
    )


def treatment_mistakes(design: PartialDesign, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    """Yield every mistake in a design."""
    yield from _duplicate_names(design)
    known = {name: dict.fromkeys(levels) for name, levels in design.factors.items()}
    for place, levels in _choices(design):
        chosen = {name: levels[name] for name in levels if name not in design.unreadable}
        yield from _unknown_levels(known, place, chosen)
    if design.whole and design.most() and not treatments:
        yield Mistake("exclude", "leaves no treatment", "exclude less")
    elif treatments:
        yield from _unused(design, treatments)
        yield from _without_effect(design)
        yield from _empty_scales(design, treatments)


def _entries(value: object) -> dict[int, object]:
    return dict(enumerate(value)) if isinstance(value, list) else {0: value}


def _readable(model: type[_Entry], entries: Mapping[Any, object]) -> dict[Any, _Entry]:
    valid = {}
    for place, entry in entries.items():
        try:
            valid[place] = model.model_validate(entry)
        except ValidationError:
            continue
    return valid


def _choices(design: PartialDesign) -> Iterator[tuple[str, Mapping[str, list[str]]]]:
    """Yield every place that names levels, with these levels."""
    for index, group in design.groups.items():
        yield f"groups[{index}].levels", group.levels
    for index, exclusion in design.exclusions.items():
        yield f"exclude[{index}].levels", exclusion.levels
    for name, scale in design.scales.items():
        yield f"scales.{name}.levels", scale.levels
        for index, part in enumerate(scale.parts):
            yield f"scales.{name}.parts[{index}]", part


def _unknown_levels(
    factors: Mapping[str, Mapping[str, None]], place: str, choice: Mapping[str, list[str]]
) -> Iterator[Mistake]:
    for name, levels in choice.items():
        if name not in factors:
            yield unknown_factor_at(f"{place}.{name}", name, factors)
            continue
        for index, level in enumerate(levels):
            if level not in factors[name]:
                yield Mistake(f"{place}.{name}[{index}]", unknown_level(name, level, factors))
        if not levels:
            yield Mistake(f"{place}.{name}", "names no level", "name one, or delete the key")
        yield from named_twice(f"{place}.{name}", levels)


def named_twice(place: str, names: Sequence[str]) -> Iterator[Mistake]:
    """Yield the mistake of a list, of levels or hosts, that has a name more than once."""
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        named = ", ".join(map(repr, repeated))
        yield Mistake(place, f"lists {named} more than once", "keep one of them")


def unknown_factor(name: str, factors: Collection[str]) -> str:
    """Say that there is no such factor, and which ones there are."""
    known = f"known: {first_names(factors)}" if factors else "there is no [factors] table"
    return f"unknown factor {name!r}; {known}"


def unknown_factor_at(place: str, name: str, factors: Collection[str]) -> Mistake:
    """Return the mistake of a place that names no factor."""
    return Mistake(place, unknown_factor(name, factors), did_you_mean(name, factors, most=3))


def unknown_level(name: str, level: str, factors: Mapping[str, Collection[str]]) -> str:
    """Say that a factor has no such level, and which ones it has."""
    return f"{level!r} is not a level of {name}; known: {first_names(factors[name])}"


def _duplicate_names(design: PartialDesign) -> Iterator[Mistake]:
    named: dict[str, int] = {}
    for index, group in design.groups.items():
        first = named.setdefault(group.name, index)
        if index != first:
            reason = f"groups[{first}] is also named {group.name!r}"
            yield Mistake(f"groups[{index}].name", reason, "give each group its own name")


def _unused(design: PartialDesign, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    for name, levels in design.factors.items():
        used = {treatment[name] for treatment in treatments}
        grouped = _grouped(design, name)
        for level in levels:
            if level not in used:
                reason = (
                    "is excluded from every treatment" if level in grouped else "is in no group"
                )
                yield Mistake(f"factors.{name}", f"{level!r} {reason}", "use it, or delete it")


def _grouped(design: PartialDesign, name: str) -> set[str]:
    """Return the levels of a factor that at least one group has; without groups, all levels."""
    levels = design.factors[name]
    return {
        level
        for group in design.groups.values() or [None]
        for level in (levels if group is None else group.levels.get(name, levels))
    }


def _without_effect(design: PartialDesign) -> Iterator[Mistake]:
    """Find groups without a remaining treatment, and exclusions that match no treatment."""
    excluded = Exclusions([*design.exclusions.values()])
    for index, group in design.groups.items():
        treatments = factorial.treatments(design.factors, [group])
        if all(any(excluded.matching(treatment)) for treatment in treatments):
            reason = f"every treatment of group {group.name!r} is excluded"
            yield Mistake(f"groups[{index}]", reason, "delete the group, or exclude less")
    everything = factorial.treatments(design.factors, [*design.groups.values()])
    effective = {
        id(exclusion) for treatment in everything for exclusion in excluded.matching(treatment)
    }
    for index, exclusion in design.exclusions.items():
        if id(exclusion) not in effective:
            reason = "no treatment has these levels"
            yield Mistake(f"exclude[{index}]", reason, "correct them, or delete the exclusion")


def _empty_scales(design: PartialDesign, treatments: Sequence[Treatment]) -> Iterator[Mistake]:
    """Find scales without a treatment, and bases that no treatment has, at a scale or at all."""
    base_levels = {
        name: level for name, level in design.base.items() if level in design.factors.get(name, ())
    }
    if not any(base_levels.items() <= treatment.items() for treatment in treatments):
        yield Mistake("report.base", "no treatment has these levels", "name levels of a treatment")
        return
    for name, scale in design.scales.items():
        matching = [treatment for treatment in treatments if scale.matches(treatment)]
        if not matching:
            yield Mistake(f"scales.{name}", "leaves no treatment", "keep more levels")
        elif not any(base_levels.items() <= treatment.items() for treatment in matching):
            reason = "leaves out report.base, which the report compares with"
            yield Mistake(f"scales.{name}", reason, "keep the levels of report.base, too")
        for index, part in enumerate(scale.parts if matching else ()):
            if not any(factorial.has(treatment, part) for treatment in matching):
                place = f"scales.{name}.parts[{index}]"
                yield Mistake(place, "no treatment of the scale has these levels", "correct them")


AXES = ("rows", "columns", "pages")


def report_mistakes(
    report: object, factors: Mapping[str, list[str]], unreadable: Collection[str] = ()
) -> Iterator[Mistake]:
    """Yield unknown factors and levels, and factors that are on two axes of the matrix.

    Of ``unreadable`` factors, only their own mistakes are reported.
    """
    yield from _base_mistakes(table(report).get("base"), factors, unreadable)
    yield from _axis_mistakes(table(report), factors, unreadable)


def metric_mistakes(
    name: str, scenarios: Iterable[Scenario], of: str = "", option: str = ""
) -> Iterator[Mistake]:
    """Yield the mistake of a metric that no trial can have, of the report or an option of a verb.

    ``of`` names whose trials an option is about.
    """
    metric = METRICS[name]
    if not any(scenario.may_have(metric) for scenario in scenarios):
        whose = f" of {of}" if of else ""
        reason = f"no trial{whose} has a value of {name}, which applies to: {metric.applies}"
        path = () if option else ("report", "metric")
        yield Mistake(option or "report.metric", reason, "name another metric", path=path)


def _base_mistakes(
    base: object, factors: Mapping[str, list[str]], unreadable: Collection[str]
) -> Iterator[Mistake]:
    for name, level in table(base).items():
        if name in unreadable:
            continue
        if name not in factors:
            yield unknown_factor_at(f"report.base.{name}", name, factors)
        elif level not in factors[name]:
            yield Mistake(f"report.base.{name}", unknown_level(name, level, factors))


def _axis_mistakes(
    report: Mapping[str, Any], factors: Mapping[str, list[str]], unreadable: Collection[str]
) -> Iterator[Mistake]:
    first: dict[str, str] = {}
    for axis in AXES:
        names = as_list(report.get(axis, []))
        for index, name in enumerate(names if isinstance(names, list) else []):
            place = f"report.{axis}[{index}]"
            if not isinstance(name, str) or name in unreadable:
                continue
            if name not in factors:
                yield unknown_factor_at(place, name, factors)
            elif name in first:
                yield Mistake(place, f"{name!r} is also in {first[name]}", "name it in one of them")
            first.setdefault(name, place)


def certain(factors: Factors, find: Callable[[Treatment], Iterable[Mistake]]) -> Iterator[Mistake]:
    """Yield the mistakes that a design has whatever an unreadable group or exclusion chooses.

    Those are mistakes of every combination, or of every one with the level that has the mistake.
    """
    if factorial.most(factors) > MAX_TREATMENTS:
        return
    found, having = Counter[Mistake](), Counter[tuple[str, str]]()
    for levels in factorial.treatments(factors):
        having.update([("", ""), *levels.items()])
        found.update([*dict.fromkeys(find(levels))])
    for mistake, count in found.items():
        match mistake.path:
            case ("factors", str(name), int(index), *_):
                level = (name, factors[name][index])
            case ("factors", str(name), str(key), *_):
                level = (name, key)
            case _:
                level = ("", "")
        if count == having[level]:
            yield mistake


MAX_TREATMENTS = 20_000
"""Each treatment is checked as a network and a set of programs of its own, 0.2 ms each."""
MAX_TRIALS = 200_000
"""Two days, if each trial takes a second."""


def size_mistakes(factors: Factors, groups: Sequence[Group], blocks: int) -> Iterator[Mistake]:
    """Yield what is wrong with the size of a design, which is not made for that."""
    treatments = factorial.most(factors, groups)
    if treatments > MAX_TREATMENTS:
        sizes = first_names([f"{name} {len(levels)}" for name, levels in factors.items()])
        reason = (
            f"the design has {treatments} treatments (levels: {sizes}), each of which is checked;"
            f" the limit is {MAX_TREATMENTS}"
        )
        remedy = "use fewer levels, or groups of those that the question needs together"
        yield Mistake("groups" if groups else "factors", reason, remedy)
    elif treatments * blocks > MAX_TRIALS:
        reason = f"the design has {treatments * blocks} trials; the limit is {MAX_TRIALS}"
        yield Mistake("replicates", reason, "use fewer blocks or levels, or several experiments")
