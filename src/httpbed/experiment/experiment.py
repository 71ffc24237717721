"""An experiment: a question, its factors, and a scenario in which factors stand for values.

A **treatment** is the experiment's document with every ``{ factor = "name" }`` replaced by one
of that factor's levels, and every profile by what it says. So each level is checked where it is
used, by the same strict models, and nothing downstream ever meets a reference.

A level is text, such as ``"2 %"``. What is more than a text is a level with a name:
``loss = { light = "1 %", bursts = { to_bad = "1 %", to_good = "30 %" } }``. It may be a table or a
list, and other factors may stand for values in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from httpbed.experiment import factorial, profiles
from httpbed.experiment.factorial import Exclusion, FactorName, Group, LevelText, Scale, ScaleName
from httpbed.experiment.metric import METRICS
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.units import Seconds
from httpbed.experiment.value import Value

Document = Mapping[str, Any]
"""A parsed TOML table."""
Path = tuple[str | int, ...]
"""Keys and indices that lead to a place in it."""
Levels = Mapping[str, str]
"""One level for each factor, by its text or name: the levels of a treatment."""

SCENARIO_PARTS = tuple(Scenario.model_fields)
SHORTEST_TIME_LIMIT_S = 600.0
LONGEST_TIME_LIMIT_S = 86_400.0
"""The recipes' own time-outs are set to a day, so that no program gives up before the trial."""
IDEAL_TIMES_LIMIT = 20
MOST_SHARED_PARTS = 20_000
"""Parts of scenarios that are kept to be shared: some kB each."""


def _names(levels: object) -> object:
    """Name the levels of a factor: they are texts, or the keys of a table."""
    return list(levels) if isinstance(levels, Mapping) else levels


FactorLevels = Annotated[
    list[LevelText],
    BeforeValidator(_names),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
]
"""The levels of a factor, by text or name."""


class ReportOptions(Value):
    """What the report puts first."""

    metric: Literal[tuple(METRICS)] = "request_time"  # type: ignore[valid-type]
    """The metric of the main table."""
    base: dict[FactorName, str] = Field(default_factory=dict)
    """Levels of the treatment that the others are compared with, within each condition."""


class Experiment(Value):
    """What an experiment says apart from the scenario."""

    schema_: Literal[1] = Field(alias="schema")
    """Version of this file format."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    """Short name: lower-case letters, digits and hyphens."""
    question: str = Field(min_length=1)
    """What is to be found out, in a sentence."""
    replicates: int = Field(ge=1, le=10_000, strict=True)
    """Number of blocks; each runs every treatment once."""
    seed: int = Field(ge=0, lt=2**63, strict=True)
    """Decides the order within blocks, every impairment's random stream, and the content."""
    time_limit: Annotated[Seconds, Field(gt=0, le=LONGEST_TIME_LIMIT_S)] | None = None
    """After so long a trial has timed out; by default the larger of 600 s and 20 ideal times."""
    factors: dict[FactorName, FactorLevels] = Field(default_factory=dict)
    """What is varied: each factor's name with its levels, written as where they are used; in a
    table, each level has a name and may be more than a text."""
    groups: list[Group] = Field(default_factory=list)
    """The design is the union of these crossings; without any, all levels are crossed."""
    exclude: list[Exclusion] = Field(default_factory=list)
    """Treatments that are left out of it."""
    scales: dict[ScaleName, Scale] = Field(default_factory=dict)
    """How much of it ``httpbed run --scale`` runs."""
    report: ReportOptions = ReportOptions()
    """What the report puts first."""

    def time_limit_s(self, scenario: Scenario) -> float:
        """Seconds after which a trial of this scenario has timed out."""
        ideal = IDEAL_TIMES_LIMIT * scenario.ideal_s()
        return self.time_limit or max(SHORTEST_TIME_LIMIT_S, ideal)

    def treatments(self) -> Iterator[dict[str, str]]:
        """Every treatment, the first factor varying slowest."""
        return factorial.treatments(self.factors, self.groups, self.exclude)

    def trials(self) -> int:
        """Count them, of all blocks."""
        return sum(1 for _ in self.treatments()) * self.replicates

    def at_scale(self, name: ScaleName | None) -> Experiment:
        """Return what of it is run at one of its scales; with None, all."""
        if name is None:
            return self
        scale = self.scales[name]
        factors = factorial.narrowed(self.factors, scale.levels)
        return self.model_copy(update={"factors": factors, "replicates": scale.replicates})


class Written(dict[str, Any]):
    """An experiment's document with what is looked up in it for each of many treatments.

    It is not changed once it is made. Treatments with the same levels of all factors that a part
    of the scenario refers to share that part, filled in once.
    """

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._further = _further(self)
        self._reach: dict[str, tuple[str, ...]] = {}
        self._indices: dict[str, dict[str, int]] = {}
        self._parts: dict[tuple[str | None, ...], Any] = {}

    @cached_property
    def references(self) -> dict[Path, str]:
        """Each place that refers to a factor, with the factor's name."""
        return dict(factor_references(self))

    def reference_above(self, path: Path) -> Path | None:
        """Return the reference that is at a path or above it; there is one at the most."""
        ends = range(len(path) + 1)
        return next((path[:end] for end in ends if path[:end] in self.references), None)

    def key_of(self, factor: str, level: str) -> str | int:
        """Return under what a level stands in its factor: its name, or its index in the list."""
        said = self["factors"][factor]
        if isinstance(said, Mapping):
            return level
        if factor not in self._indices:
            backwards = reversed([*enumerate(said)])  # of a level that stands twice, the first
            self._indices[factor] = {one: index for index, one in backwards}
        return self._indices[factor][level]

    def reached_from(self, name: str) -> tuple[str, ...]:
        """Name a factor and those for which, in turn, a place in its levels stands."""
        if name not in self._reach:
            self._reach[name] = _follow(self._further, [name])
        return self._reach[name]

    def scenario(self, levels: Levels) -> dict[str, Any]:
        """Return a treatment's scenario; parts of it are shared with other treatments."""
        return {part: self._part(part, levels) for part in self._factors_of}

    def _part(self, part: str, levels: Levels) -> Any:
        key = (part, *map(levels.get, self._factors_of[part]))
        if key not in self._parts:
            if len(self._parts) >= MOST_SHARED_PARTS:
                self._parts.clear()
            self._parts[key] = _filled(self, part, levels)
        return self._parts[key]

    @cached_property
    def _factors_of(self) -> dict[str, tuple[str, ...]]:
        """Name the factors on which each part of the scenario depends."""
        return {
            part: _follow(self._further, [name for _, name in references(self[part])])
            for part in SCENARIO_PARTS
            if part in self
        }


def is_reference(node: object) -> bool:
    """Tell whether a node of a document stands for a factor."""
    return isinstance(node, Mapping) and set(node) == {"factor"}


def references(node: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path of each factor reference below ``node`` with the factor's name."""
    if is_reference(node):
        yield path, str(node["factor"])  # type: ignore[index]
    elif isinstance(node, Mapping):
        for key, child in node.items():
            yield from references(child, (*path, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from references(child, (*path, index))


def factor_references(document: Document) -> list[tuple[Path, str]]:
    """List the factor references of an experiment's scenario and of its levels, with their paths.

    Those of a level have a path that begins ``("factors", FACTOR, LEVEL)``.
    """
    scenario = {part: document.get(part) for part in SCENARIO_PARTS}
    return [*references(scenario), *_references_of_levels(document)]


def values(document: Document, levels: Levels) -> dict[str, Any]:
    """Return what each level stands for: itself, or what the factor's table says under its name."""
    return {
        name: said[level] if isinstance(said := document["factors"][name], Mapping) else level
        for name, level in levels.items()
    }


def fill(node: Any, standing_for: Mapping[str, Any]) -> Any:
    """Copy ``node`` with each reference to a factor replaced by what its level stands for.

    A factor that stands for itself, by others in between, stays a reference.
    """
    if isinstance(node, str):  # most nodes are
        return node
    if is_reference(node):
        name = str(node["factor"])
        others = {one: value for one, value in standing_for.items() if one != name}
        return fill(standing_for[name], others) if name in standing_for else node
    if isinstance(node, Mapping):
        return {key: fill(child, standing_for) for key, child in node.items()}
    if isinstance(node, list):
        return [fill(child, standing_for) for child in node]
    return node


def scenario_document(document: Document, levels: Levels) -> dict[str, Any]:
    """Cut the scenario out of an experiment's document, with levels and profiles filled in."""
    if isinstance(document, Written):
        return document.scenario(levels)
    return {part: _filled(document, part, levels) for part in SCENARIO_PARTS if part in document}


def _filled(document: Document, part: str, levels: Levels) -> Any:
    filled = fill(document[part], values(document, levels))
    return profiles.expanded_topology(filled) if part == "topology" else filled


def replaced(document: Any, path: Path, value: Any) -> Any:
    """Copy a document with another value at ``path``."""
    if not path:
        return value
    copy: Any = list(document) if isinstance(document, list) else dict(document)
    copy[path[0]] = replaced(document[path[0]], path[1:], value)
    return copy


def narrowed(document: Document, factors: factorial.Factors) -> dict[str, Any]:
    """Copy a document with those levels of its factors only."""
    said = document.get("factors", {})
    kept = {
        name: {level: said[name][level] for level in levels}
        if isinstance(said[name], Mapping)
        else list(levels)
        for name, levels in factors.items()
    }
    return {**document, "factors": kept} if kept else dict(document)


def network_factors(document: Document) -> tuple[str, ...]:
    """Names of the factors on which the topology depends: together they make the condition."""
    return reached(document, [name for _, name in references(document.get("topology", {}))])


def reached(document: Document, names: Iterable[str]) -> tuple[str, ...]:
    """Name these factors and those for which, in turn, a place in their levels stands."""
    return _follow(_further(document), names)


def _follow(further: Mapping[str, list[str]], names: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    waiting = deque(names)
    while waiting:
        name = waiting.popleft()
        if name not in found:
            found[name] = None
            waiting += further.get(name, ())
    return tuple(found)


def _further(document: Document) -> dict[str, list[str]]:
    """Name, of each factor, those for which places in its levels stand, each once."""
    named: dict[str, dict[str, None]] = {}
    for path, other in _references_of_levels(document):
        named.setdefault(str(path[1]), {})[other] = None
    return {name: [*others] for name, others in named.items()}


def _references_of_levels(document: Document) -> list[tuple[Path, str]]:
    factors = document.get("factors")
    return [
        found
        for name, said in (factors.items() if isinstance(factors, Mapping) else ())
        for level, value in (said.items() if isinstance(said, Mapping) else ())
        for found in references(value, ("factors", name, level))
    ]
