"""Progress of a run: a bar with the campaign's status on a terminal, else a line per block."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from httpbed.addons.live import terminal
from httpbed.base import units
from httpbed.campaign.progress import AttemptProgress, Pace, RunProgress
from httpbed.cli.echo import echo
from httpbed.cli.progress_bar import LiveBar

MOST_SILENCE_S = 60.0
"""Longest time without a line where there is no terminal."""
ROWS_OF_BAR = 3
"""Rows of a terminal that the status leaves to the bar and to the line above it."""


class Reporter(LiveBar):
    """Prints the progress of a campaign; use it as a context manager."""

    def __init__(
        self, total: int, per_block: Mapping[int, int], *, expected: frozenset[str] = frozenset()
    ) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        super().__init__(*columns, description="trials", total=total, left="")
        self._has_status = False
        self._expected = expected | {"completed"}  # outcomes without a line of their own
        self._printed = time.monotonic()
        self._pace = Pace(total, per_block, self._printed)

    def report(self, progress: AttemptProgress) -> None:
        """Print the end of one attempt, and how far the campaign is."""
        attempt = progress.attempt
        if attempt.outcome.kind == "invalid":
            consequence = _consequence(progress)
            event = f"invalid attempt {attempt.number} of {attempt.id}: {attempt.outcome.reason}"
            self._print_line(f"{event}; {consequence}")
        elif attempt.outcome.kind not in self._expected:
            self._print_line(
                f"{attempt.outcome.kind}: {_name(attempt.trial.levels)}: {attempt.outcome.reason}"
            )
        if progress.retried:
            return
        now = time.monotonic()
        how_far = self._pace.finish(attempt, now)
        if self.is_live:
            self.advance()
            if not self._has_status:
                self.write(left=_left(how_far.left_s))
        elif how_far.block is not None or now - self._printed >= MOST_SILENCE_S:
            self._printed = now
            self._print_line(_line(how_far))

    def show_status(self, status: Mapping[str, Any]) -> None:
        """Show how the campaign's trials ended and its estimates so far, below the bar."""
        self._has_status = True
        self.write(left=_left(status["left_s"]))
        self.put_below(terminal.beside_a_run(status, self.height - ROWS_OF_BAR))

    def _print_line(self, text: str) -> None:
        if self.is_live:
            self.print(text)
        else:
            echo(text, err=True)


def _line(how_far: RunProgress) -> str:
    block = "" if how_far.block is None else f"block {how_far.block} done, "
    lasted = units.format_long_duration(how_far.lasted_s)
    is_left = how_far.done < how_far.total
    rest = _left(how_far.left_s) if is_left else "all done"
    return f"{block}{how_far.done} of {how_far.total} trials in {lasted}, {rest}"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {units.format_long_duration(seconds)} left"


def _consequence(progress: AttemptProgress) -> str:
    if not progress.retried:
        return "giving up; the same command tries again"
    return "repeating"


def _name(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the treatment"
