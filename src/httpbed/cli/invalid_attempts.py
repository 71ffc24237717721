"""The invalid attempts of a run, one line for each block that has any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from httpbed.campaign.executor import AttemptProgress
from httpbed.experiment.check import CHECK_BY_ID
from httpbed.experiment.trial import Attempt
from httpbed.trial import verdict

MAX_REASON = 60
"""Characters of a reason that is a sentence, not the name of a check."""
CALM_CLOCK = "--clock virtual does not depend on other programs"


@dataclass
class _OfBlock:
    """The invalid attempts of a block that no line has counted yet."""

    reasons: Counter[str] = field(default_factory=Counter)
    later: int = 0
    """Trials that are tried again at the end of the run."""
    given_up: int = 0
    remedy: str = ""
    """What helps if a busy machine is among the reasons, in real time."""


class InvalidAttempts:
    """Counts invalid attempts, and writes a line when each trial of a block has had its turn."""

    def __init__(self, per_block: Mapping[int, int]) -> None:
        self._per_block = per_block
        self._turns = Counter[int]()
        self._blocks = defaultdict[int, _OfBlock](_OfBlock)
        self._has_named_remedy = False

    def note(self, progress: AttemptProgress) -> Iterator[str]:
        """Count an attempt; yield the line of its block if that is complete now."""
        attempt, block = progress.attempt, progress.attempt.trial.block
        if attempt.outcome.kind == "invalid":
            self._count(progress)
        if progress.retried and not progress.later:
            return
        self._turns[block] += 1
        if self._turns[block] == self._per_block.get(block):
            yield from self._line(block)

    def rest(self) -> Iterator[str]:
        """Yield the lines of blocks that were not completed, and of attempts after that."""
        for block in sorted(self._blocks):
            yield from self._line(block)

    def _count(self, progress: AttemptProgress) -> None:
        attempt, of_block = progress.attempt, self._blocks[progress.attempt.trial.block]
        of_block.reasons[_reason(attempt)] += 1
        of_block.later += progress.later
        of_block.given_up += not progress.retried
        if attempt.trial.clock == "real" and verdict.is_strained(attempt):
            field = attempt.trial.scenario().workload.needs_real_time
            of_block.remedy = f"{field} needs a machine without other load" if field else CALM_CLOCK

    def _line(self, block: int) -> Iterator[str]:
        of_block = self._blocks.pop(block, None)
        if of_block is None:
            return
        total = of_block.reasons.total()
        reasons = ", ".join(f"{count} by {name}" for name, count in of_block.reasons.most_common())
        parts = [f"block {block}: {total} invalid attempt{'s' * (total > 1)} ({reasons})"]
        if again := total - of_block.later - of_block.given_up:
            parts.append(f"{again} repeated at once")
        if of_block.later:
            parts.append(f"{_trials(of_block.later)} again at the end")
        if of_block.given_up:
            parts.append(f"{_trials(of_block.given_up)} given up; the same command tries again")
        if of_block.remedy and not self._has_named_remedy:
            self._has_named_remedy = True
            parts.append(of_block.remedy)
        yield "; ".join(parts)


def _trials(count: int) -> str:
    return f"{count} trial{'s' * (count > 1)}"


def _reason(attempt: Attempt) -> str:
    """Return the names of the checks that found the bed's failure, or the start of the reason."""
    broken = [one for one in attempt.checks if one.passed is False and one.of == "bed"]
    named = [one.name.partition(",")[0] for one in broken if not CHECK_BY_ID[one.check].is_explicit]
    if named:
        return " and ".join(dict.fromkeys(named))
    reason = attempt.outcome.reason
    return reason if len(reason) <= MAX_REASON else f"{reason[: MAX_REASON - 1]}…"
