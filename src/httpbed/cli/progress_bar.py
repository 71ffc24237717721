"""A progress bar that is there on a terminal only; elsewhere its owner writes lines."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.progress import Progress, ProgressColumn

from httpbed.report.terminal import Console


class LiveBar:
    """One bar on stderr; use it, or what inherits from it, as a context."""

    def __init__(self, *columns: ProgressColumn, description: str, total: int) -> None:
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(description, total=total)
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
        """Count one more."""
        self._bar.advance(self._task)

    def show(self, completed: int, description: str) -> None:
        """Say how many are done, and what is being done."""
        self._bar.update(self._task, completed=completed, description=description)

    def print(self, text: str) -> None:
        """Write a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)
