"""A progress bar for terminals; without a terminal, its owner prints lines instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from rich.console import RenderableType
from rich.progress import Progress, ProgressColumn

from httpbed.report.terminal import Console

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
