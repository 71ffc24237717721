"""The report on a terminal: table, answer, evidence and notes, as wide as there is room.

An interval always stands beside or below its value. Where the table is too wide, columns that need
not be there are left out first, and named. Then intervals go below their values, and the levels of
all factors into one column. In the last resort words are broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from httpbed.base.errors import visible
from httpbed.report import terminal
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.phrasing import listed
from httpbed.report.sections import Document
from httpbed.report.terminal import Console

INDENT = 1
"""Blanks before the table."""
GAP = 2
"""Blanks between columns."""
NO_BREAK = "\N{NO-BREAK SPACE}"
MIN_HEADING = 9
"""Letters in a line of a heading, however narrow its cells are."""
STYLES: Mapping[Tone, str] = {
    "main": "bold",
    "better": "green",
    "worse": "yellow",
    "open": "dim",
    "base": "dim",
}


def show(document: Document, report: Path | None, out: Console) -> None:
    """Print the document; the path of the HTML report, if there is one, is the last line."""
    shown, left_out = fitted(document.treatments, out.width - INDENT)
    texts = [(section.id, section.line) for section in document.sections if section.line]
    texts += [("answer", str(replace(sentence, evidence=""))) for sentence in document.answer]
    texts += [("evidence", "; ".join(document.evidence))] if document.evidence else []
    texts += [("note", line) for line in document.notes]
    if left_out:
        them = "it" if len(left_out) == 1 else "them"
        text = (
            f"{listed(left_out)} left out, because {out.width} columns have no room for {them};"
            f" a wider terminal and the HTML report show {them}"
        )
        texts.append(("columns", text))
    programs = [("programs", ", ".join(document.programs))] if document.programs else []
    common = [("in common", document.in_common)] if document.in_common else []
    heading = [("question", document.question), *document.heading.pairs, *common, *programs]
    padded = Padding(shown, (0, 0, 0, INDENT))
    table = (padded, "") if document.treatments.columns else ()
    terminal.show(out, (terminal.facts(heading), "", *table, terminal.facts(texts)))
    if report is not None:
        show_path(report, out)


def show_path(report: Path, out: Console) -> None:
    """Print where the HTML report is."""
    terminal.show_facts([("report", str(report))], out)


def fitted(table: Table, width: int) -> tuple[Grid, list[str]]:
    """Lay out a table in so many columns of text; also return the headings that it leaves out."""
    every = [_visible(column) for column in table.columns if column.shown != "in HTML"]
    kept = [column for column in every if column.shown != "if there is room"]
    layouts = (
        (every, False, width),
        (every, False, MIN_HEADING),
        (kept, False, MIN_HEADING),
        (kept, True, MIN_HEADING),
        (_joined(kept), True, MIN_HEADING),
    )
    for chosen, stacked, heading in layouts:
        columns = [_narrow(column, heading, stacked=stacked) for column in chosen]
        least = sum(_min_width(column, stacked=stacked) + GAP for column in columns)
        if fits := least <= width:
            break
    absent = (one for one in every if one not in kept and chosen is not every)
    left_out = [" ".join(column.header.split()) for column in absent]
    widths = _widths(columns, width, stacked=stacked) if fits else [None] * len(columns)
    return _grid(columns, widths, stacked=stacked), left_out


def _joined(columns: Sequence[Column]) -> list[Column]:
    """Return columns with one for all levels in place of one for each factor."""
    names = [column for column in columns if column.is_name]
    if len(names) < 2:  # nothing to join
        return [*columns]
    header = ", ".join(" ".join(column.header.split()) for column in names)
    rows = zip(*(column.cells for column in names), strict=True)
    levels = (", ".join(cell.text for cell in cells) for cells in rows)
    others = (column for column in columns if not column.is_name)
    return [Column.of(header, levels, wraps=True, is_name=True), *others]


def _widths(columns: Sequence[Column], room: int, *, stacked: bool) -> list[int | None]:
    """Return the width of each column: every word is whole, and lines are where there is room."""
    widths = [_min_width(column, stacked=stacked) for column in columns]
    spare = room - sum(widths) - GAP * len(widths)
    lacking = {
        place: _min_width(replace(column, wraps=False), stacked=stacked) - widths[place]
        for place, column in enumerate(columns)
    }
    for place in sorted(lacking, key=lambda one: lacking[one]):
        more = min(lacking[place], spare)
        widths[place], spare = widths[place] + more, spare - more
    return [*widths]


def _grid(columns: Sequence[Column], widths: Sequence[int | None], *, stacked: bool) -> Grid:
    """Lay out columns; without widths rich shares the room, and may break a value."""
    grid = Grid(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim")
    for column, width in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.right else "left"
        grid.add_column(Text(column.header), justify=justify, overflow="fold", width=width)
    above = ""
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = [_text(cell, stacked=stacked) for cell in cells]
        if columns[0].is_name and cells[0].text == above:
            texts[0] = Text()
        above = cells[0].text
        grid.add_row(*texts)
    return grid


def _visible(column: Column) -> Column:
    """Return a column without characters that do not print."""
    cells = (
        replace(cell, text=visible(cell.text), aside=visible(cell.aside)) for cell in column.cells
    )
    header = "\n".join(map(visible, column.header.split("\n")))
    return replace(column, header=header, cells=tuple(cells))


def _narrow(column: Column, least: int, *, stacked: bool) -> Column:
    """Return a column whose heading has lines as short as its cells, or so many letters."""
    texts = (_text(cell, stacked=stacked).plain for cell in column.cells)
    widest = max((cell_len(line) for text in texts for line in text.split("\n")), default=0)
    width = max(widest, least)
    lines = list[str]()
    for text in column.header.replace(" %", f"{NO_BREAK}%").split("\n"):
        lines += textwrap.wrap(text, width, break_long_words=False)
    return replace(column, header="\n".join(lines).replace(NO_BREAK, " "))


def _text(cell: Cell, *, stacked: bool) -> Text:
    """Write a cell in one line, or its interval below its value."""
    between = "\n" if stacked else " "
    return Text(between.join(filter(None, (cell.text, cell.aside))), STYLES.get(cell.tone, ""))


def _min_width(column: Column, *, stacked: bool) -> int:
    """Return the width without which a word or a value would be broken."""
    texts = [column.header, *(_text(cell, stacked=stacked).plain for cell in column.cells)]
    pieces = (text.split() if column.wraps else text.split("\n") for text in texts)
    return max((cell_len(piece) for some in pieces for piece in some), default=0)
