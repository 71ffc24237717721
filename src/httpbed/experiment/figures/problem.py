"""What is wrong with a declared figure, at which of its keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from httpbed.experiment.document import KeyPath


@dataclass(frozen=True)
class FigureProblem:
    """One mistake in a figure."""

    at: KeyPath
    """Keys below the figure's table."""
    reason: str
    remedy: str = ""


class FigureProblemsError(Exception):
    """A figure cannot be drawn; contains every mistake that was found."""

    def __init__(self, problems: Iterable[FigureProblem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(one.reason for one in self.problems))
