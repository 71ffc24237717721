"""Tables of the experiment file that addons read, such as ``[[claim]]``.

They change nothing that runs. An addon registers each with the model of one of them, and checks
what they say against the experiment's design. Without the addon nothing reads its tables: a new
file must do without them, a campaign's are named as unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from httpbed.base.addon import Seam
from httpbed.base.value import Value
from httpbed.experiment.document import KeyPath
from httpbed.experiment.factorial import Selection, TreatmentKey
from httpbed.experiment.factorial_mistakes import unknown_factor, unknown_level


@dataclass(frozen=True)
class TableProblem:
    """What is wrong at a key of a table, such as a claim, a figure, or the tables of a scenario."""

    at: KeyPath
    """Keys below the table."""
    reason: str
    remedy: str = ""


class TableProblemsError(Exception):
    """A table cannot be used; contains every mistake that was found."""

    def __init__(self, problems: Iterable[TableProblem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(problem.reason for problem in self.problems))


def unknown_names(
    path: KeyPath, selection: Selection, factors: Mapping[str, Sequence[str]]
) -> Iterator[TableProblem]:
    """Find the factors and levels of a selection that do not exist."""
    for name, levels in selection.items():
        if name not in factors:
            yield TableProblem((*path, name), unknown_factor(name, factors))
            continue
        for level in levels:
            if level not in factors[name]:
                yield TableProblem((*path, name), unknown_level(name, level, factors))


def in_tables(
    name: str, tables: Mapping[int, Any], problems: Callable[[Any], Iterable[TableProblem]]
) -> Iterator[tuple[KeyPath, TableProblem]]:
    """Yield each problem of some tables with the path of its table, and ids that two have."""
    first: dict[str, int] = {}
    for index, table in tables.items():
        path = (name, index)
        earlier = first.setdefault(table.id, index)
        if earlier != index:
            reason = f"{name}[{earlier}] also has the id {table.id!r}"
            yield path, TableProblem(("id",), reason, f"give each {name} its own id")
        yield from ((path, problem) for problem in problems(table))


def require_none(problems: Iterable[TableProblem]) -> None:
    """Raise the problems, if there are any."""
    if several := tuple(problems):
        raise TableProblemsError(several)


@dataclass(frozen=True)
class StatedTables:
    """The tables of one name that can be read, and what they can refer to."""

    tables: Mapping[int, Any]
    """Each by its index in the file."""
    unread: Sequence[str]
    """The ids of those that have other mistakes."""
    factors: Mapping[str, Sequence[str]]
    treatments: Sequence[Mapping[str, str]]
    others: Mapping[str, StatedTables] = field(default_factory=dict)
    """Those of other experiments that are known, by the experiments' names."""


@dataclass(frozen=True)
class StatedTable:
    """A list of tables ``[[name]]``."""

    name: str
    field: str
    """The attribute of an experiment that has them."""
    model: type[Value]
    most: int
    """How many a file may have."""
    meaning: str
    """What the tables are for, in the file's schema."""
    problems: Callable[[StatedTables], Iterable[tuple[KeyPath, TableProblem]]]
    """Finds each mistake, with the path of its table."""
    complete: Callable[[StatedTables, frozenset[TreatmentKey]], Sequence[str]] | None = None
    """Returns the ids of valid tables that need no treatment beside these, which a scale runs; None
    if the tables need none."""


STATED_TABLES = Seam("tables of the experiment file", StatedTable)
