"""How a run tells how far it is: on a terminal by a line that changes, else block by block."""

from __future__ import annotations

import time
from collections import Counter

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from httpbed.campaign import local
from httpbed.cli.echo import echo
from httpbed.cli.progress_bar import LiveBar
from httpbed.experiment import units

MOST_SILENCE_S = 60.0
"""Without a terminal; then the next trial's end is told."""


class Reporter(LiveBar):
    """Takes what an executor tells; use it as a context."""

    def __init__(
        self, total: int, per_block: int, *, expected: frozenset[str] = frozenset()
    ) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        super().__init__(*columns, description="trials", total=total)
        self._total, self._per_block = total, per_block
        self._expected = expected | {"completed"}  # ends of a trial of which nothing is told
        self._done: Counter[int] = Counter()
        self._began = self._told = time.monotonic()

    def tell(self, progress: local.Progress) -> None:
        """Take the news of one attempt."""
        attempt = progress.attempt
        if attempt.outcome.kind == "invalid":
            then = _then(progress)
            said = f"invalid attempt {attempt.number} at {attempt.id}: {attempt.outcome.reason}"
            self._say(f"{said}; {then}")
        elif attempt.outcome.kind not in self._expected:
            self._say(
                f"{attempt.outcome.kind}: {_name(attempt.trial.levels)}: {attempt.outcome.reason}"
            )
        if progress.retried:
            return
        self._done[attempt.trial.block] += 1
        if self.is_live:
            self.advance()
        elif self._done[attempt.trial.block] == self._per_block:
            self._tell_how_far(f"block {attempt.trial.block} done, ")
        elif time.monotonic() - self._told >= MOST_SILENCE_S:
            self._tell_how_far("")

    def _tell_how_far(self, what: str) -> None:
        done, now = sum(self._done.values()), time.monotonic()
        self._told, lasted = now, now - self._began
        left = lasted / done * (self._total - done)
        then = (
            f"about {units.format_long_duration(left)} left"
            if done < self._total
            else "all of them"
        )
        self._say(
            f"{what}{done} of {self._total} trials in {units.format_long_duration(lasted)}, {then}"
        )

    def _say(self, text: str) -> None:
        if self.is_live:
            self.print(text)
        else:
            echo(text, err=True)


def _then(progress: local.Progress) -> str:
    if not progress.retried:
        return "giving up"
    if progress.patience_s:
        return f"trying again when the machine is quiet, at most {progress.patience_s:g} s later"
    return "trying again"


def _name(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the treatment"
