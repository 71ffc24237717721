"""The invalid attempts of a run, one line for each of its parts that has any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from httpbed.campaign.executor import AttemptProgress, RunParts
from httpbed.experiment.check import CHECK_BY_ID
from httpbed.experiment.trial import Attempt
from httpbed.trial import verdict

MAX_REASON = 60
"""Characters of a reason that is a sentence, not the name of a check."""
CALM_CLOCK = "--clock virtual does not depend on other programs"


@dataclass
class _OfPart:
    """The invalid attempts of a part that no line has counted yet."""

    reasons: Counter[str] = field(default_factory=Counter)
    later: int = 0
    """Trials that are tried again at the end of the run."""
    given_up: int = 0
    remedy: str = ""
    """What helps if a busy machine is among the reasons, in real time."""


class InvalidAttempts:
    """Counts invalid attempts, and writes a line when each trial of a part has had its turn."""

    def __init__(self, parts: RunParts) -> None:
        self._run_parts = parts
        self._turns = Counter[str]()
        self._counted = defaultdict[str, _OfPart](_OfPart)
        self._has_named_remedy = False

    def note(self, progress: AttemptProgress) -> Iterator[str]:
        """Count an attempt; yield the line of its part if that is complete now."""
        part = self._run_parts.name(progress.attempt.trial)
        if progress.attempt.outcome.kind == "invalid":
            self._count(progress, self._counted[part])
        if progress.retried and not progress.later:
            return
        self._turns[part] += 1
        if self._turns[part] == self._run_parts.sizes.get(part):
            yield from self._line(part)

    def rest(self) -> Iterator[str]:
        """Yield the lines of parts that were not completed, and of attempts after that."""
        for part in list(self._counted):
            yield from self._line(part)

    def _count(self, progress: AttemptProgress, of_part: _OfPart) -> None:
        attempt = progress.attempt
        of_part.reasons[_reason(attempt)] += 1
        of_part.later += progress.later
        of_part.given_up += not progress.retried
        if attempt.trial.clock == "real" and verdict.is_strained(attempt):
            field = attempt.trial.scenario().workload.needs_real_time
            of_part.remedy = f"{field} needs a machine without other load" if field else CALM_CLOCK

    def _line(self, part: str) -> Iterator[str]:
        of_part = self._counted.pop(part, None)
        if of_part is None:
            return
        total = of_part.reasons.total()
        reasons = ", ".join(f"{count} by {name}" for name, count in of_part.reasons.most_common())
        parts = [f"{part}: {total} invalid attempt{'s' * (total > 1)} ({reasons})"]
        if again := total - of_part.later - of_part.given_up:
            parts.append(f"{again} repeated at once")
        if of_part.later:
            parts.append(f"{_trials(of_part.later)} again at the end")
        if of_part.given_up:
            parts.append(f"{_trials(of_part.given_up)} given up; the same command tries again")
        if of_part.remedy and not self._has_named_remedy:
            self._has_named_remedy = True
            parts.append(of_part.remedy)
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
