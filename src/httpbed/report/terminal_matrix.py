"""The matrix of treatments on a terminal, where it fits."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from httpbed.addons.claims.claim_matrix import Matrix, MatrixCell, MatrixRow, Page, matrix
from httpbed.base.errors import visible, visible_lines
from httpbed.experiment.experiment import ReportOptions
from httpbed.report.answer import sums_up
from httpbed.report.phrasing import base_name, title
from httpbed.results.findings import Findings

GAPS = (2, 1)
"""Blanks between columns; fewer where more do not fit."""
STYLES = {"better": "green", "worse": "yellow", "open": "dim", "base": "dim"}


def fitting(findings: Findings, options: ReportOptions, width: int) -> list[RenderableType]:
    """Return the matrices of many comparisons; none if one of them is wider than that."""
    if not sums_up(findings):
        return []
    found = matrix(findings, options)
    gaps = [gap for gap in GAPS if all(_width(found, page, gap) <= width for page in found.pages)]
    if found.folded or not gaps:
        return []
    heading = f"{title(findings.metric)}, paired ratio to {base_name(findings)}:"
    shapes = "; ".join(f"{shape} {meaning}" for shape, meaning in found.shapes)
    return [Text(visible(f"{heading} {shapes}"), "dim"), *_pages(found, gaps[0])]


def _pages(found: Matrix, gap: int) -> Iterator[RenderableType]:
    for page in found.pages:
        if page.name:
            yield Text(visible(page.name), "bold")
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
        for name in _headings(found, page):
            table.add_column(Text(name), no_wrap=True)
        for row in page.rows:
            table.add_row(*(Text(name) for name in _names(row)), *map(_cell, row.cells))
        yield table


def _width(found: Matrix, page: Page, gap: int) -> int:
    rows = [[*_names(row), *(_cell(cell).plain for cell in row.cells)] for row in page.rows]
    columns = zip(_headings(found, page), *rows, strict=True)
    return sum(
        gap + max(cell_len(line) for text in column for line in visible_lines(text).split("\n"))
        for column in columns
    )


def _headings(found: Matrix, page: Page) -> list[str]:
    """Write each heading with one word in a line."""
    return ["\n".join(visible(name).split()) for name in (*found.corner, *page.columns)]


def _names(row: MatrixRow) -> list[str]:
    return [visible(text) if spans else "" for text, spans in row.headings]


def _cell(cell: MatrixCell | None) -> Text:
    if cell is None:
        return Text()
    base = "base" if cell.tone == "base" else ""
    first = " ".join(filter(None, (cell.shape, cell.main, base, cell.missing)))
    return Text(f"{first}\n{cell.aside}".rstrip(), STYLES.get(cell.tone, ""))
