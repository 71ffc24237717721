"""A progress bar for terminals; without a terminal, its owner prints lines instead."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.progress import Progress, ProgressColumn

from httpbed.report.terminal import Console


class LiveBar:
    """One bar on stderr; use it, or a subclass, as a context manager."""

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
        """Count one more step."""
        self._bar.advance(self._task)

    def show(self, completed: int, description: str) -> None:
        """Show the number of completed steps and the current one."""
        self._bar.update(self._task, completed=completed, description=description)

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)
