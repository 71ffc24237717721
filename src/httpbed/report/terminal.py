"""The consoles on which tables are printed, with control characters made visible."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO

from rich import console as rich
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from httpbed.base.errors import visible_lines

PIPED_WIDTH = 100


class Console(rich.Console):
    """A console that shows escapes in the place of characters that do not print.

    What it makes itself, such as colours and the movements of a progress bar, stays.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments to print."""
        for piece in super().render(renderable, options):
            if piece.is_control:
                yield piece
            else:
                yield Segment(visible_lines(piece.text), piece.style)


def console(stream: IO[str] | None = None) -> Console:
    """Make the console of a report: as wide as the terminal, or 100 columns into a pipe."""
    made = Console(file=stream or sys.stdout, highlight=False, emoji=False, markup=False)
    if not made.is_terminal:
        made.width = max(PIPED_WIDTH, made.width)
    return made


def show(out: Console, parts: Iterable[RenderableType]) -> None:
    """Print parts below each other; into a pipe without blanks at the ends of lines."""
    if out.is_terminal:
        out.print(*parts, sep="\n")
        return
    with out.capture() as captured:
        out.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        out.print(Text.from_ansi(line.rstrip()), soft_wrap=True)
