"""The consoles on which tables are printed, with control characters made visible."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import IO

from rich import console as rich
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from httpbed.base.errors import visible, visible_lines

PIPED_WIDTH = 100
KEY_WIDTH = 9
"""Letters of the key before a line, such as ``note``."""


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


def show_facts(
    facts: Iterable[tuple[str, str]], out: Console, *, key_width: int = KEY_WIDTH
) -> None:
    """Print a line for each text, behind its key."""
    for key, text in facts:
        out.print(Text(f"{key:<{key_width}}  {text}"), soft_wrap=True)


def facts(lines: Iterable[tuple[str, str]]) -> Table:
    """Lay out texts behind their keys; a long one goes on in the next lines."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=KEY_WIDTH, no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for key, line in lines:
        table.add_row(key, Text(visible(line)))
    return table


def grid(headers: Iterable[str], right: Collection[str] = (), *, gap: int = 2) -> Table:
    """Make a table without lines; the columns ``right`` are aligned there."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for header in headers:
        table.add_column(
            Text(visible_lines(header)), justify="right" if header in right else "left"
        )
    return table
