"""Progress of a run: a bar on a terminal, else a line per part."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from httpbed.base import units
from httpbed.base.errors import beginning
from httpbed.campaign.executor import AttemptProgress
from httpbed.cli.echo import echo
from httpbed.experiment.check import all_checks
from httpbed.experiment.trial import Attempt, Outcome, Trial
from httpbed.report.terminal import Console
from httpbed.trial import verdict

_NUMBER = re.compile(r"\d+")
"""Differs between trials that fail for one reason, such as a process identifier or a time."""
MAX_SILENCE_S = 60.0
"""Longest time without a line where there is no terminal."""
REDRAWS_PER_S = 1
"""Drawing takes milliseconds of CPU time, which trials and calibrations should not miss."""
MAX_REASON = 60
"""Characters of a reason that is a sentence, not the name of a check."""
CALM_CLOCK = "--clock virtual does not depend on other programs"


@dataclass(frozen=True)
class RunParts:
    """The parts of a run that end one after the other."""

    name: Callable[[Trial], str]
    """Returns the name of the part to which a trial belongs."""
    sizes: Mapping[str, int]
    """Number of trials of each part; empty: their order is not that of parts."""

    @classmethod
    def by(cls, name: Callable[[Trial], str], trials: Iterable[Trial]) -> RunParts:
        """Divide a run of these trials."""
        return cls(name, Counter(map(name, trials)))

    @classmethod
    def blocks(cls, trials: Iterable[Trial]) -> RunParts:
        """Divide a run of these trials into its blocks."""
        return cls.by(lambda trial: f"block {trial.block}", trials)


NO_PARTS = RunParts.blocks(())


@dataclass
class Pace:
    """Counts the finished trials of a run; times are seconds of one clock."""

    total: int
    parts: RunParts
    began_s: float
    lasted_s: float = 0.0
    """From the beginning of the run to the last trial that finished."""
    _done: Counter[str] = field(default_factory=Counter)

    @property
    def done(self) -> int:
        """Number of finished trials."""
        return self._done.total()

    @property
    def left_s(self) -> float:
        """Seconds until the end, if the other trials take as long as those that are finished."""
        return self.lasted_s / self.done * (self.total - self.done)

    def finish(self, attempt: Attempt, now_s: float) -> str | None:
        """Count a trial that is not retried; return the part of the run that is complete now."""
        part = self.parts.name(attempt.trial)
        self._done[part] += 1
        self.lasted_s = now_s - self.began_s
        return part if self._done[part] == self.parts.sizes.get(part) else None


@dataclass
class _OfPart:
    """The invalid attempts of a part that no line has counted yet."""

    reasons: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    awaited: set[tuple[int, str]] = field(default_factory=set)
    """Trials whose next attempt follows at once."""
    later: set[tuple[int, str]] = field(default_factory=set)
    """Trials that are tried again at the end of the run."""
    given_up: int = 0
    remedy: str = ""
    """What helps if a busy machine is among the reasons, in real time."""

    def begin_again(self, attempt: Attempt) -> None:
        """Note that a trial has another attempt."""
        trial = _trial(attempt)
        self.repeated += trial in self.awaited
        self.awaited.discard(trial)
        self.later.discard(trial)


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
        if part in self._counted:
            self._counted[part].begin_again(progress.attempt)
        if progress.attempt.outcome.kind == "invalid":
            self._count(progress, self._counted[part])
        if progress.retried and not progress.later:
            return
        self._turns[part] += 1
        if self._turns[part] == self._run_parts.sizes.get(part):
            yield from self._line(part)

    def rest(self) -> Iterator[str]:
        """Yield the lines of parts that were not completed, and of attempts after that.

        What was to be repeated is not, because the run has ended.
        """
        for part in list(self._counted):
            yield from self._line(part, has_ended=True)

    def _count(self, progress: AttemptProgress, of_part: _OfPart) -> None:
        attempt = progress.attempt
        of_part.reasons[_reason(attempt)] += 1
        if progress.retried:
            (of_part.later if progress.later else of_part.awaited).add(_trial(attempt))
        else:
            of_part.given_up += 1
        if attempt.trial.clock == "real" and verdict.is_strained(attempt):
            of_part.remedy = CALM_CLOCK

    def _line(self, part: str, *, has_ended: bool = False) -> Iterator[str]:
        of_part = self._counted.pop(part, None)
        if of_part is None:
            return
        total = of_part.reasons.total()
        reasons = ", ".join(f"{count} by {name}" for name, count in of_part.reasons.most_common())
        parts = [f"{part}: {units.format_count(total, 'invalid attempt')} ({reasons})"]
        if of_part.repeated:
            parts.append(f"{of_part.repeated} repeated at once")
        waiting = len(of_part.awaited | of_part.later)
        if waiting and has_ended:
            not_repeated = units.format_count(waiting, "trial")
            parts.append(f"{not_repeated} not repeated; the same command tries again")
        elif waiting:
            parts.append(f"{units.format_count(waiting, 'trial')} again at the end")
        if of_part.given_up:
            given_up = units.format_count(of_part.given_up, "trial")
            parts.append(f"{given_up} given up; the same command tries again")
        if of_part.remedy and not self._has_named_remedy:
            self._has_named_remedy = True
            parts.append(of_part.remedy)
        yield "; ".join(parts)


def _trial(attempt: Attempt) -> tuple[int, str]:
    return attempt.trial.block, attempt.trial.id


def _reason(attempt: Attempt) -> str:
    """Return the names of the checks that found the bed's failure, or the start of the reason."""
    broken = [check for check in attempt.checks if check.passed is False and check.of == "bed"]
    named = [
        check.name.partition(",")[0]
        for check in broken
        if not all_checks()[check.check].is_explicit
    ]
    if named:
        return " and ".join(dict.fromkeys(named))
    return beginning(attempt.outcome.reason, MAX_REASON)


class LiveBar:
    """One bar on stderr; use it, or a subclass, as a context manager."""

    def __init__(
        self, *columns: ProgressColumn, description: str, total: int, **fields: Any
    ) -> None:
        self._bar = Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=REDRAWS_PER_S,
        )
        self._task = self._bar.add_task(description, total=total, **fields)
        self.is_live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self.is_live:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.is_live:
            self._bar.stop()

    def advance(self) -> None:
        """Count one more step."""
        self._bar.advance(self._task)

    def show(self, completed: int, description: str) -> None:
        """Show the number of completed steps and the current one."""
        self._bar.update(self._task, completed=completed, description=description)


class Reporter(LiveBar):
    """Prints the progress of a campaign; use it as a context manager."""

    def __init__(
        self,
        total: int,
        parts: RunParts = NO_PARTS,
        *,
        expected: frozenset[str] = frozenset(),
        answer: Callable[[str], Iterable[str]] | None = None,
    ) -> None:
        """Make a reporter of a run of ``total`` trials.

        Args:
            total: Number of trials.
            parts: What has a line when it ends.
            expected: Outcomes without a line of their own.
            answer: Returns what a part shows; asked in a thread when the part ends, but the last.
        """
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        super().__init__(*columns, description="trials", total=total, left="")
        self._endings = set[tuple[str, str]]()
        self._invalid = InvalidAttempts(parts)
        self._expected = expected | {"completed"}
        self._answer = answer
        self._printed = time.monotonic()
        self._pace = Pace(total, parts, self._printed)

    def report(self, progress: AttemptProgress) -> None:
        """Print the end of one attempt, and how far the campaign is."""
        attempt = progress.attempt
        for line in self._invalid.note(progress):
            self._print_line(line)
        is_told = attempt.outcome.kind in self._expected | {"invalid"}
        if not is_told and self._is_new(attempt.outcome):
            treatment = named(attempt.trial.levels) or "the treatment"
            self._print_line(f"{attempt.outcome.kind}: {treatment}: {attempt.outcome.reason}")
        if progress.retried:
            return
        now = time.monotonic()
        part = self._pace.finish(attempt, now)
        if self.is_live:
            self.advance()
            self._bar.update(self._task, left=_left(self._pace))
        elif part is not None or now - self._printed >= MAX_SILENCE_S:
            self._printed = now
            self._print_line(_line(self._pace, part))
        if self._answer and part is not None and self._pace.done < self._pace.total:
            # Statistics take seconds to import, in which the event loop starts further trials.
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, self._print_answer, self._answer, part)

    def _print_answer(self, answer: Callable[[str], Iterable[str]], part: str) -> None:
        for line in answer(part):
            self._print_line(line)

    def _is_new(self, outcome: Outcome) -> bool:
        """Whether no trial has ended so yet; the report counts those that end alike."""
        key = outcome.kind, _NUMBER.sub("0", outcome.reason)
        is_new = key not in self._endings
        self._endings.add(key)
        return is_new

    def __exit__(self, *error: object) -> None:
        for line in self._invalid.rest():
            self._print_line(line)
        super().__exit__(*error)

    def _print_line(self, text: str) -> None:
        if self.is_live:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            echo(text, err=True)


def _line(pace: Pace, part: str | None) -> str:
    completed = "" if part is None else f"{part} done, "
    lasted = units.format_long_duration(pace.lasted_s)
    rest = _left(pace) if pace.done < pace.total else "all done"
    return f"{completed}{pace.done} of {pace.total} trials in {lasted}, {rest}"


def _left(pace: Pace) -> str:
    return f"about {units.format_long_duration(pace.left_s)} left"


def named(levels: Mapping[str, str]) -> str:
    """Name a combination of levels."""
    return ", ".join(f"{factor} {level}" for factor, level in levels.items())
