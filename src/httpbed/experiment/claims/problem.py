"""What is wrong with a claim, at which of its keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from httpbed.experiment.document import KeyPath


@dataclass(frozen=True)
class ClaimProblem:
    """One mistake in a claim."""

    at: KeyPath
    """Keys below the claim's table."""
    reason: str
    remedy: str = ""


class ClaimProblemsError(Exception):
    """A claim cannot be judged; contains every mistake that was found."""

    def __init__(self, problems: Iterable[ClaimProblem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(one.reason for one in self.problems))


def require_none(problems: Iterable[ClaimProblem]) -> None:
    """Raise the problems, if there are any."""
    if found := tuple(problems):
        raise ClaimProblemsError(found)
