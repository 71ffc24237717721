"""How a run tells how far it is: a line that changes on a terminal, a line per block elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from httpbed.executor import local


class Reporter:
    """Takes what an executor tells; use it as a context."""

    def __init__(self, total: int, per_block: int) -> None:
        self._total, self._per_block = total, per_block
        self._done: Counter[int] = Counter()
        self._began = time.monotonic()
        self._bar = _bar() if sys.stderr.isatty() else None
        self._task = self._bar.add_task("trials", total=total) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def tell(self, progress: local.Progress) -> None:
        """Take the news of one attempt."""
        attempt = progress.attempt
        if attempt.outcome.kind == "invalid":
            then = "trying again" if progress.retried else "giving up"
            said = f"invalid attempt {attempt.number} at {attempt.id}: {attempt.outcome.reason}"
            self._say(f"{said}; {then}")
        elif attempt.outcome.kind != "completed":
            self._say(
                f"{attempt.outcome.kind}: {_name(attempt.trial.levels)}: {attempt.outcome.reason}"
            )
        if progress.retried:
            return
        self._done[attempt.trial.block] += 1
        if self._bar and self._task is not None:
            self._bar.advance(self._task)
        elif self._done[attempt.trial.block] == self._per_block:
            self._say(f"block {attempt.trial.block} done, {self._summary()}")

    def _summary(self) -> str:
        done = sum(self._done.values())
        left = (time.monotonic() - self._began) / done * (self._total - done)
        return f"{done} of {self._total} trials, about {left:.0f} s left"

    def _say(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            click.echo(text, err=True)


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _name(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor} {level}" for factor, level in levels.items()) or "the treatment"
