"""An experiment's document: the parsed TOML, in which factors still stand for values.

A place that varies holds a **reference**, ``{ factor = "name" }``. The scenario of a treatment is
the document with each reference replaced by the treatment's level, and each profile by its values.
So strict models check each level where it is used, and later code never meets a reference.

A level is a text, such as ``"2 %"``. A level that needs a table or a list has a name:
``loss = { light = "1 %", bursts = { to_bad = "1 %", to_good = "30 %" } }``. Such a level may
contain references to further factors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from httpbed.experiment import profiles
from httpbed.experiment.factorial import Factors
from httpbed.experiment.scenario import MAX_SHARED_PARTS, Scenario

Document = Mapping[str, Any]
"""A parsed TOML table."""
KeyPath = tuple[str | int, ...]
"""Keys and indices that lead to a place in a document."""
Levels = Mapping[str, str]
"""A treatment: one level of each factor, by its text or name."""

SCENARIO_PARTS = tuple(Scenario.model_fields)


def table(node: object) -> Document:
    """Return a node that is a table; in place of any other, which models reject, an empty one."""
    return node if isinstance(node, Mapping) else {}


def words(node: object) -> frozenset[str]:
    """Return all keys and all texts of a document: what of the addons it may be about."""
    if isinstance(node, Mapping):
        return frozenset(node).union(*map(words, node.values()))
    if isinstance(node, list | tuple):
        return frozenset[str]().union(*map(words, node))
    return frozenset({node} if isinstance(node, str) else ())


class ExperimentDocument(dict[str, Any]):
    """An experiment's document with an index of its references; not changed once made.

    Treatments that agree on all factors of a part of the scenario share that part as one object, so
    thousands of treatments need little time and memory.
    """

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._nested = _nested_factors(self)
        self._reach: dict[str, tuple[str, ...]] = {}
        self._indices: dict[str, dict[str, int]] = {}
        self._parts: dict[tuple[str | None, ...], Any] = {}

    @cached_property
    def references(self) -> dict[KeyPath, str]:
        """The path of each reference with the factor's name."""
        return dict(factor_references(self))

    def reference_above(self, path: KeyPath) -> KeyPath | None:
        """Return the path of the reference at ``path`` or above it; there is at most one."""
        ends = range(len(path) + 1)
        return next((path[:end] for end in ends if path[:end] in self.references), None)

    def key_of(self, factor: str, level: str) -> str | int:
        """Return the key of a level in its factor: its name, or its index in the list."""
        levels = self["factors"][factor]
        if isinstance(levels, Mapping):
            return level
        if factor not in self._indices:
            backwards = reversed([*enumerate(levels)])  # the first of two equal levels wins
            self._indices[factor] = {text: index for index, text in backwards}
        return self._indices[factor][level]

    def reached_from(self, name: str) -> tuple[str, ...]:
        """Return a factor and all factors that its levels refer to, directly or not."""
        if name not in self._reach:
            self._reach[name] = _closure(self._nested, [name])
        return self._reach[name]

    def scenario(self, levels: Levels) -> dict[str, Any]:
        """Return a treatment's scenario; other treatments may share its parts."""
        return {part: self._part(part, levels) for part in self._factors_of}

    def _part(self, part: str, levels: Levels) -> Any:
        key = (part, *map(levels.get, self._factors_of[part]))
        if key not in self._parts:
            if len(self._parts) >= MAX_SHARED_PARTS:
                self._parts.clear()
            self._parts[key] = _filled(self, part, levels)
        return self._parts[key]

    @cached_property
    def _factors_of(self) -> dict[str, tuple[str, ...]]:
        """The factors on which each part of the scenario depends."""
        return {
            part: _closure(self._nested, [name for _, name in references(self[part])])
            for part in SCENARIO_PARTS
            if part in self
        }


def is_reference(node: object) -> bool:
    """Whether a node of a document is a reference to a factor."""
    return isinstance(node, Mapping) and set(node) == {"factor"}


def references(node: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each reference at or below ``node`` with the factor's name."""
    if is_reference(node):
        yield path, str(node["factor"])  # type: ignore[index]
    elif isinstance(node, Mapping):
        for key, child in node.items():
            yield from references(child, (*path, key))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from references(child, (*path, index))


def factor_references(document: Document) -> list[tuple[KeyPath, str]]:
    """List all references in an experiment's scenario and levels: path and factor's name.

    The path of a reference in a level begins with ``("factors", FACTOR, LEVEL)``.
    """
    scenario = {part: document.get(part) for part in SCENARIO_PARTS}
    return [*references(scenario), *_references_in_levels(document)]


def level_values(document: Document, levels: Levels) -> dict[str, Any]:
    """Return the value of each level: its text, or the table's entry of that name."""
    stated = {name: document["factors"][name] for name in levels}
    return {
        name: stated[name][level] if isinstance(stated[name], Mapping) else level
        for name, level in levels.items()
    }


def fill(node: Any, values: Mapping[str, Any]) -> Any:
    """Copy ``node`` with each reference replaced by the factor's value.

    A factor whose value refers back to the factor stays a reference there.
    """
    if isinstance(node, str):  # most nodes are
        return node
    if is_reference(node):
        name = str(node["factor"])
        others = {other: value for other, value in values.items() if other != name}
        return fill(values[name], others) if name in values else node
    if isinstance(node, Mapping):
        return {key: fill(child, values) for key, child in node.items()}
    if isinstance(node, list):
        return [fill(child, values) for child in node]
    return node


def scenario_document(document: Document, levels: Levels) -> dict[str, Any]:
    """Return the scenario of a treatment, with its levels and profiles filled in."""
    if isinstance(document, ExperimentDocument):
        return document.scenario(levels)
    return {part: _filled(document, part, levels) for part in SCENARIO_PARTS if part in document}


def _filled(document: Document, part: str, levels: Levels) -> Any:
    filled = fill(document[part], level_values(document, levels))
    return profiles.expanded_topology(filled) if part == "topology" else filled


def replaced(document: Any, path: KeyPath, value: Any) -> Any:
    """Copy a document with another value at ``path``."""
    if not path:
        return value
    copy: Any = list(document) if isinstance(document, list) else dict(document)
    copy[path[0]] = replaced(document[path[0]], path[1:], value)
    return copy


def narrowed(document: Document, factors: Factors) -> dict[str, Any]:
    """Copy a document with only these levels of its factors."""
    tables = document.get("factors", {})
    left = {
        name: {level: tables[name][level] for level in levels}
        if isinstance(tables[name], Mapping)
        else list(levels)
        for name, levels in factors.items()
    }
    return {**document, "factors": left} if left else dict(document)


def network_factors(document: Document) -> tuple[str, ...]:
    """Return the factors on which the topology depends; their levels are the condition."""
    return with_nested(document, [name for _, name in references(document.get("topology", {}))])


def program_factors(document: Document) -> tuple[str, ...]:
    """Return the factors that choose programs, or what programs are told."""
    parts = (document.get(part, {}) for part in ("roles", "competitors"))
    return with_nested(document, [name for part in parts for _, name in references(part)])


def with_nested(document: Document, names: Iterable[str]) -> tuple[str, ...]:
    """Return these factors and all factors that their levels refer to, directly or not."""
    return _closure(_nested_factors(document), names)


def _closure(nested: Mapping[str, list[str]], names: Iterable[str]) -> tuple[str, ...]:
    reached: dict[str, None] = {}
    waiting = deque(names)
    while waiting:
        name = waiting.popleft()
        if name not in reached:
            reached[name] = None
            waiting += nested.get(name, ())
    return tuple(reached)


def _nested_factors(document: Document) -> dict[str, list[str]]:
    """Map each factor to the factors that its levels refer to directly, each once."""
    nested: dict[str, dict[str, None]] = {}
    for path, other in _references_in_levels(document):
        nested.setdefault(str(path[1]), {})[other] = None
    return {name: [*others] for name, others in nested.items()}


def _references_in_levels(document: Document) -> list[tuple[KeyPath, str]]:
    return [
        reference
        for name, levels in table(document.get("factors")).items()
        for level, value in table(levels).items()
        for reference in references(value, ("factors", name, level))
    ]
