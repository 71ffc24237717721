"""The report on a terminal: table, matrix, answer, evidence and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpbed.base.errors import visible, visible_lines
from httpbed.report import terminal, terminal_table
from httpbed.report.matrix import Matrix, MatrixCell, MatrixRow, Page
from httpbed.report.phrasing import listed
from httpbed.report.sections import Document
from httpbed.report.terminal import Console
from httpbed.report.terminal_table import STYLES

KEY_WIDTH = 9
INDENT = 1
"""Blanks before the table."""
GAPS = (2, 1)
"""Blanks between columns of a matrix; fewer where more do not fit."""


def show(document: Document, report: Path | None, out: Console) -> None:
    """Print the document; the path of the HTML report, if there is one, is the last line."""
    fitted = terminal_table.fitted(document.treatments, out.width - INDENT)
    texts = [(section.id, section.line) for section in document.sections if section.line]
    texts += [("answer", str(replace(sentence, evidence=""))) for sentence in document.answer]
    texts += [("evidence", "; ".join(document.evidence))]
    texts += [("note", line) for line in document.notes]
    if fitted.left_out:
        text = (
            f"{listed(fitted.left_out)} left out, because {out.width} columns have no room for it;"
            " a wider terminal and the HTML report show it"
        )
        texts.append(("columns", text))
    tables = [fitted.table]
    if matrices := _matrices(document, out.width - INDENT):
        tables += ["", *matrices]
    table = Padding(Group(*tables), (0, 0, 0, INDENT))
    programs = [("programs", ", ".join(document.programs))] if document.programs else []
    heading = [("question", document.question), *document.heading.pairs, *programs]
    terminal.show(out, (_facts(heading), "", table, "", _facts(texts)))
    if report is not None:
        out.print(Text(f"{'report':<{KEY_WIDTH}}  {report}"), soft_wrap=True)


def _facts(lines: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
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
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
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
