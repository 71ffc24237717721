"""What is wrong with a claim or a declared figure, at which key of its table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from httpbed.experiment.document import KeyPath


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
        super().__init__("; ".join(one.reason for one in self.problems))


def require_none(problems: Iterable[TableProblem]) -> None:
    """Raise the problems, if there are any."""
    if found := tuple(problems):
        raise TableProblemsError(found)
