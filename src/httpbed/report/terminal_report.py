"""The report on a terminal: table, matrix, answer, evidence and notes, as wide as there is room.

An interval always stands beside or below its value. Where the table is too wide, columns that need
not be there are left out first, and named. Then levels become headings of the rows that share them,
and intervals go below their values. In the last resort each row has a paragraph.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from httpbed.base.errors import visible, visible_lines
from httpbed.report import terminal
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.matrix import Matrix, MatrixCell, MatrixRow, Page
from httpbed.report.phrasing import listed
from httpbed.report.sections import Document
from httpbed.report.terminal import KEY_WIDTH, Console

INDENT = 1
"""Blanks before the table."""
GAPS = (2, 1)
"""Blanks between columns of a matrix; fewer where more do not fit."""


def show(
    document: Document, report: Path | None, out: Console, *, with_checks: bool = False
) -> None:
    """Print the document; the path of the HTML report, if there is one, is the last line.

    ``with_checks``: every check and every invalid attempt in tables, too.
    """
    shown = fitted(document.treatments, out.width - INDENT)
    texts = [(section.id, section.line) for section in document.sections if section.line]
    texts += [("answer", str(replace(sentence, evidence=""))) for sentence in document.answer]
    texts += [("evidence", "; ".join(document.evidence))]
    texts += [("note", line) for line in document.notes]
    if shown.left_out:
        text = (
            f"{listed(shown.left_out)} left out, because {out.width} columns have no room for it;"
            " a wider terminal and the HTML report show it"
        )
        texts.append(("columns", text))
    tables = [shown.table]
    if matrices := _matrices(document, out.width - INDENT):
        tables += ["", *matrices]
    table = Padding(Group(*tables), (0, 0, 0, INDENT))
    programs = [("programs", ", ".join(document.programs))] if document.programs else []
    heading = [("question", document.question), *document.heading.pairs, *programs]
    checks = list(_checks(document, out.width - INDENT)) if with_checks else []
    terminal.show(out, (_facts(heading), "", table, "", _facts(texts), *checks))
    if report is not None:
        show_path(report, out)


def show_path(report: Path, out: Console) -> None:
    """Print where the HTML report is."""
    terminal.show_facts([("report", str(report))], out)


def _checks(document: Document, width: int) -> Iterator[RenderableType]:
    """Yield the tables of the section on validity."""
    for section in document.sections:
        for block in section.blocks if section.id == "validity" else ():
            if isinstance(block, Table):
                yield from ("", Text(visible(block.caption), "dim"))
                yield Padding(fitted(block, width).table, (0, 0, 0, INDENT))


def _facts(lines: Iterable[tuple[str, str]]) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=KEY_WIDTH, no_wrap=True, style="dim")
    grid.add_column()
    for key, line in lines:
        grid.add_row(key, Text(visible(line)))
    return grid


def _matrices(document: Document, width: int) -> list[RenderableType]:
    """Return the matrices of many comparisons; none if one of them is wider than that."""
    matrix = document.matrix
    if matrix is None or matrix.folded:
        return []
    gaps = [gap for gap in GAPS if all(_width(matrix, page, gap) <= width for page in matrix.pages)]
    if not gaps:
        return []
    shapes = "; ".join(f"{shape} {meaning}" for shape, meaning in matrix.shapes)
    heading = Text(visible(f"{document.matrix_title}: {shapes}"), "dim")
    return [heading, *_pages(matrix, gaps[0])]


def _pages(matrix: Matrix, gap: int) -> Iterator[RenderableType]:
    for page in matrix.pages:
        if page.name:
            yield Text(visible(page.name), "bold")
        table = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
        for name in _headings(matrix, page):
            table.add_column(Text(name), no_wrap=True)
        for row in page.rows:
            table.add_row(*(Text(name) for name in _names(row)), *map(_cell, row.cells))
        yield table


def _width(matrix: Matrix, page: Page, gap: int) -> int:
    rows = [[*_names(row), *(_cell(cell).plain for cell in row.cells)] for row in page.rows]
    columns = zip(_headings(matrix, page), *rows, strict=True)
    return sum(
        gap + max(cell_len(line) for text in column for line in visible_lines(text).split("\n"))
        for column in columns
    )


def _headings(matrix: Matrix, page: Page) -> list[str]:
    """Write each heading with one word in a line."""
    return ["\n".join(visible(name).split()) for name in (*matrix.corner, *page.columns)]


def _names(row: MatrixRow) -> list[str]:
    return [visible(text) if spans else "" for text, spans in row.headings]


def _cell(cell: MatrixCell | None) -> Text:
    if cell is None:
        return Text()
    base = "base" if cell.tone == "base" else ""
    first = " ".join(filter(None, (cell.shape, cell.main, base, cell.missing)))
    return Text(f"{first}\n{cell.aside}".rstrip(), STYLES.get(cell.tone, ""))


NO_BREAK = "\N{NO-BREAK SPACE}"
GAP = 2
"""Blanks between columns."""
STYLES: Mapping[Tone, str] = {
    "main": "bold",
    "better": "green",
    "worse": "yellow",
    "open": "dim",
    "base": "dim",
}


@dataclass(frozen=True)
class FittedTable:
    """A table that fits, and what it leaves out."""

    table: RenderableType
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Layout:
    """One way to lay out a table."""

    columns: tuple[Column, ...]
    headings: int = 0
    """How many of the first columns are headings of the rows that share their levels."""
    stacked: bool = False
    """Whether intervals stand below their values."""

    def groups(self) -> Iterator[tuple[list[str], list[tuple[Cell, ...]]]]:
        """Yield each heading's levels with its rows."""
        rows = zip(*(column.cells for column in self.columns), strict=True)
        by_heading = itertools.groupby(
            rows, lambda cells: [cell.text for cell in cells[: self.headings]]
        )
        for levels, group in by_heading:
            yield levels, list(group)

    @property
    def is_dense(self) -> bool:
        """Whether a heading has two rows or more, on average."""
        rows = len(self.columns[0].cells)
        return not self.headings or 2 * sum(1 for _ in self.groups()) <= rows

    def widths(self, room: int) -> list[int] | None:
        """Return the columns' widths; None where a word or a value would be broken."""
        beside = self.columns[self.headings :]
        widths = [_min_width(column, stacked=self.stacked) for column in beside]
        spare = room - sum(widths) - GAP * len(widths)
        if spare < 0:
            return None
        lacking = {
            index: _max_width(one, stacked=self.stacked) - widths[index]
            for index, one in enumerate(beside)
        }
        # Equal shares, and what a column does not need goes to those that need more.
        for left, index in enumerate(sorted(lacking, key=lambda index: lacking[index])):
            more = min(lacking[index], spare // (len(lacking) - left))
            widths[index], spare = widths[index] + more, spare - more
        return widths


def fitted(table: Table, width: int) -> FittedTable:
    """Lay out a table in so many columns of text."""
    every = tuple(map(_visible, (column for column in table.columns if column.shown != "in HTML")))
    kept = tuple(column for column in every if column.shown != "if there is room")
    names = sum(column.is_name for column in every)
    left_out = tuple(_in_a_line(column.header) for column in every if column not in kept)
    layouts = [
        _Layout(every),
        *(_Layout(kept, count) for count in range(max(1, names))),
        *(_Layout(kept, count, stacked=True) for count in range(max(1, names))),
    ]
    for layout in sorted(layouts, key=lambda one: not one.is_dense):
        if widths := layout.widths(width):
            without = left_out if layout.columns is kept else ()
            return FittedTable(Group(*_by_heading(layout, widths)), without)
    return FittedTable(Group(*_paragraphs(every, width)))


def _by_heading(layout: _Layout, widths: Sequence[int]) -> Iterator[RenderableType]:
    """Yield a table for each heading, all with the same columns."""
    if named := layout.columns[: layout.headings]:
        yield Text(f"{', '.join(_in_a_line(column.header) for column in named)}:", "dim")
        yield _empty_table(layout, widths, with_header=True)
    for levels, group in layout.groups():
        if levels:
            yield Text(", ".join(levels))
        table = _empty_table(layout, widths, with_header=not levels)
        above = ""
        for cells in group:
            texts = [_text(cell, stacked=layout.stacked) for cell in cells[layout.headings :]]
            if not levels and layout.columns[0].is_name and cells[0].text == above:
                texts[0] = Text()
            above = cells[0].text
            table.add_row(*texts)
        yield table


def _empty_table(layout: _Layout, widths: Sequence[int], *, with_header: bool) -> Grid:
    table = Grid(
        box=None,
        padding=(0, GAP, 0, 0),
        pad_edge=False,
        header_style="dim",
        show_header=with_header,
    )
    for column, width in zip(layout.columns[layout.headings :], widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(Text(column.header), justify=justify, overflow="fold", width=width)
    return table


def _paragraphs(every: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """Write each treatment as ``heading value; heading value; ...``, no value broken."""
    for cells in zip(*(column.cells for column in every), strict=True):
        parts = [
            f"{_in_a_line(column.header)} {unbroken}"
            for column, cell in zip(every, cells, strict=True)
            for unbroken in [_text(cell, stacked=False).plain.replace(" ", NO_BREAK)]
        ]
        lines = textwrap.wrap(
            "; ".join(parts), width, subsequent_indent="    ", break_on_hyphens=False
        )
        yield from (Text(line.replace(NO_BREAK, " ")) for line in lines)


def _in_a_line(header: str) -> str:
    return " ".join(header.split())


def _visible(column: Column) -> Column:
    """Return a column without characters that do not print."""
    cells = (
        replace(cell, text=visible(cell.text), aside=visible(cell.aside)) for cell in column.cells
    )
    header = "\n".join(map(visible, column.header.split("\n")))
    return replace(column, header=header, cells=tuple(cells))


def _text(cell: Cell, *, stacked: bool) -> Text:
    """Write a cell in one line, or its interval below its value."""
    between = "\n" if stacked else " "
    return Text(between.join(filter(None, (cell.text, cell.aside))), STYLES.get(cell.tone, ""))


def _min_width(column: Column, *, stacked: bool) -> int:
    """Return the width without which a word or a value would be broken."""
    pieces = column.header.split()
    for text in _plain(column, stacked=stacked):
        pieces += text.split() if column.wraps else text.split("\n")
    return max(map(cell_len, pieces), default=0)


def _max_width(column: Column, *, stacked: bool) -> int:
    """Return the width with which no line has to be broken."""
    texts = [column.header, *_plain(column, stacked=stacked)]
    return max(cell_len(line) for text in texts for line in text.split("\n"))


def _plain(column: Column, *, stacked: bool) -> list[str]:
    return [_text(cell, stacked=stacked).plain for cell in column.cells]
