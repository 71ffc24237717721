"""How far a run is: each committed attempt, and the pace of a run as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from httpbed.experiment.trial import Attempt


@dataclass(frozen=True)
class AttemptProgress:
    """An attempt has been committed."""

    attempt: Attempt
    retried: bool
    """Whether another attempt at the same trial follows."""


@dataclass(frozen=True)
class RunProgress:
    """How many trials of a run are finished, and when the others will be."""

    done: int
    total: int
    lasted_s: float
    """Since the run began."""
    left_s: float
    """If the other trials take as long as those that are finished."""
    block: int | None = None
    """The block that this trial completed, if it did."""


@dataclass
class Pace:
    """Counts the finished trials of a run; times are seconds of one clock."""

    total: int
    per_block: Mapping[int, int]
    """Number of trials of each block; empty: their order is not that of blocks."""
    began_s: float
    _done: Counter[int] = field(default_factory=Counter)

    def finish(self, attempt: Attempt, now_s: float) -> RunProgress:
        """Count a trial that is not retried."""
        block = attempt.trial.block
        self._done[block] += 1
        done, lasted_s = self._done.total(), now_s - self.began_s
        left_s = lasted_s / done * (self.total - done)
        completed = block if self._done[block] == self.per_block.get(block) else None
        return RunProgress(done, self.total, lasted_s, left_s, completed)
