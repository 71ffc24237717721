"""Tables of the experiment file that addons read, such as ``[[claim]]``.

They change nothing that runs. An addon registers each with the model of one of them, and checks
what they say against the experiment's design. Without the addon nothing reads its tables: a new
file must do without them, a campaign's are named as unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.base.addon import Seam
from httpbed.base.value import Value
from httpbed.experiment.document import KeyPath

# What is wrong with a claim or a declared figure, at which key of its table.


@dataclass(frozen=True)
class TableProblem:
    """One mistake in a table."""

    at: KeyPath
    """Keys below the table."""
    reason: str
    remedy: str = ""


class TableProblemsError(Exception):
    """A table cannot be used; contains every mistake that was found."""

    def __init__(self, problems: Iterable[TableProblem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(problem.reason for problem in self.problems))


def require_none(problems: Iterable[TableProblem]) -> None:
    """Raise the problems, if there are any."""
    if found := tuple(problems):
        raise TableProblemsError(found)


@dataclass(frozen=True)
class StatedTables:
    """The tables of one name that can be read, and what they can refer to."""

    tables: Mapping[int, Any]
    """Each by its index in the file."""
    unread: Sequence[str]
    """The ids of those that have other mistakes."""
    factors: Mapping[str, Sequence[str]]
    treatments: Sequence[Mapping[str, str]]


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


STATED_TABLES = Seam("tables of the experiment file", StatedTable)
