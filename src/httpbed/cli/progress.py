"""Progress of a run: a bar with the campaign's status on a terminal, else a line per part."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn

from httpbed.base import units
from httpbed.campaign.executor import NO_PARTS, AttemptProgress, Pace, RunParts, RunProgress
from httpbed.cli.echo import echo
from httpbed.cli.invalid_attempts import InvalidAttempts
from httpbed.experiment.trial import Outcome
from httpbed.report.terminal import Console

_NUMBER = re.compile(r"\d+")
"""Differs between trials that fail for one reason, such as a process identifier or a time."""
MAX_SILENCE_S = 60.0
"""Longest time without a line where there is no terminal."""
ROWS_OF_BAR = 3
"""Rows of a terminal that the status leaves to the bar and to the line above it."""
REDRAWS_PER_S = 1
"""Drawing takes milliseconds of CPU time, which trials and calibrations should not miss."""


class _Bar(Progress):
    """A bar with further lines below it."""

    below: RenderableType = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bar, then the lines."""
        yield from super().get_renderables()
        yield self.below


class LiveBar:
    """One bar on stderr; use it, or a subclass, as a context manager."""

    def __init__(
        self, *columns: ProgressColumn, description: str, total: int, **fields: Any
    ) -> None:
        self._bar = _Bar(
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_live:
            self._bar.stop()

    def advance(self) -> None:
        """Count one more step."""
        self._bar.advance(self._task)

    def show(self, completed: int, description: str) -> None:
        """Show the number of completed steps and the current one."""
        self._bar.update(self._task, completed=completed, description=description)

    def write(self, **fields: Any) -> None:
        """Show these texts in the columns that name them."""
        self._bar.update(self._task, **fields)

    def put_below(self, lines: RenderableType) -> None:
        """Show lines below the bar, instead of those that are there."""
        self._bar.below = lines

    @property
    def height(self) -> int:
        """Rows of the terminal."""
        return self._bar.console.height

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)


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
        self._has_status = False
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
        how_far = self._pace.finish(attempt, now)
        if self.is_live:
            self.advance()
            if not self._has_status:
                self.write(left=_left(how_far.left_s))
        elif how_far.part is not None or now - self._printed >= MAX_SILENCE_S:
            self._printed = now
            self._print_line(_line(how_far))
        if self._answer and how_far.part is not None and how_far.done < how_far.total:
            # Statistics take seconds to import, in which the event loop starts further trials.
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, self._print_answer, self._answer, how_far.part)

    def _print_answer(self, answer: Callable[[str], Iterable[str]], part: str) -> None:
        for line in answer(part):
            self._print_line(line)

    def _is_new(self, outcome: Outcome) -> bool:
        """Whether no trial has ended so yet; the report counts those that end alike."""
        key = outcome.kind, _NUMBER.sub("0", outcome.reason)
        is_new = key not in self._endings
        self._endings.add(key)
        return is_new

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for line in self._invalid.rest():
            self._print_line(line)
        super().__exit__(kind, error, trace)

    def show_status(self, status: Mapping[str, Any], lines: RenderableType) -> None:
        """Show how much time a status says is left, and its lines below the bar."""
        self._has_status = True
        self.write(left=_left(status["left_s"]))
        self.put_below(lines)

    @property
    def rows(self) -> int:
        """Rows of the terminal that are free for a status."""
        return self.height - ROWS_OF_BAR

    def _print_line(self, text: str) -> None:
        if self.is_live:
            self.print(text)
        else:
            echo(text, err=True)


def _line(how_far: RunProgress) -> str:
    part = "" if how_far.part is None else f"{how_far.part} done, "
    lasted = units.format_long_duration(how_far.lasted_s)
    is_left = how_far.done < how_far.total
    rest = _left(how_far.left_s) if is_left else "all done"
    return f"{part}{how_far.done} of {how_far.total} trials in {lasted}, {rest}"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {units.format_long_duration(seconds)} left"


def named(levels: Mapping[str, str]) -> str:
    """Name a combination of levels."""
    return ", ".join(f"{factor} {level}" for factor, level in levels.items())
