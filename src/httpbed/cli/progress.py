"""How a run tells how far it is: a line that changes on a terminal, a line per block elsewhere."""

from __future__ import annotations

import time
from collections import Counter

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from httpbed.cli.live import LiveBar
from httpbed.executor import local


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
        self._began = time.monotonic()

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
            self._say(f"block {attempt.trial.block} done, {self._summary()}")

    def _summary(self) -> str:
        done = sum(self._done.values())
        left = (time.monotonic() - self._began) / done * (self._total - done)
        return f"{done} of {self._total} trials, about {left:.0f} s left"

    def _say(self, text: str) -> None:
        if self.is_live:
            self.print(text)
        else:
            click.echo(text, err=True)


def _then(progress: local.Progress) -> str:
    if not progress.retried:
        return "giving up"
    if progress.patience_s:
        return f"trying again when the machine is quiet, at most {progress.patience_s:g} s later"
    return "trying again"


def _name(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the treatment"
