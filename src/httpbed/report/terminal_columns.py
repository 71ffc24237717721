"""The columns of the terminal's table, and how they fit its width.

An interval always stands beside or below its value. Where the table is too wide, the goodput is
left out first, and named. Then levels become headings of the rows that share them, and intervals go
below their values. In the last resort each treatment has a paragraph.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpbed.addons.handover import handovers_report as handovers
from httpbed.addons.pages.report import bands
from httpbed.base.errors import visible
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import (
    DASH,
    base_name,
    bracketed,
    ceiling,
    coverage,
    done,
    goodput_number,
    open_word,
    ratio_brackets,
    ratio_text,
    shared,
    table_format,
    title,
)
from httpbed.results.findings import Condition, Findings, Row

NO_BREAK = "\N{NO-BREAK SPACE}"
GAP = 2
"""Blanks between columns."""
HEADER_WIDTH = 18
"""Of a heading, before its words go to the next line."""


@dataclass(frozen=True)
class TableCell:
    """A value with what belongs to it."""

    value: str
    aside: str = ""
    """Its interval, and why it settles nothing: beside the value or below it."""
    style: str = ""

    def text(self, *, stacked: bool) -> Text:
        """Write the cell in one line, or in two."""
        between = "\n" if stacked else " "
        return Text(between.join(filter(None, (self.value, self.aside))), self.style)


@dataclass(frozen=True)
class TableColumn:
    """A column of the main table."""

    header: str
    cells: tuple[TableCell, ...]
    right: bool = False
    wraps: bool = False
    """Whether its cells may be broken between words."""
    spare: bool = False
    """Whether it may be left out where the terminal is narrow."""
    is_name: bool = False
    """Whether its cells are levels."""

    def least(self, *, stacked: bool) -> int:
        """Return the width without which a word or a value would be broken."""
        pieces = self.header.split()
        for text in self._texts(stacked=stacked):
            pieces += text.split() if self.wraps else text.split("\n")
        return max(map(cell_len, pieces), default=0)

    def most(self, *, stacked: bool) -> int:
        """Return the width with which no line has to be broken."""
        texts = [self.header, *self._texts(stacked=stacked)]
        return max(cell_len(line) for text in texts for line in text.split("\n"))

    def _texts(self, *, stacked: bool) -> list[str]:
        return [cell.text(stacked=stacked).plain for cell in self.cells]


@dataclass(frozen=True)
class Fitted:
    """A table that fits, and what it leaves out."""

    table: RenderableType
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Layout:
    """One way to lay out a table."""

    columns: tuple[TableColumn, ...]
    headings: int = 0
    """How many of the first columns are headings of the rows that share their levels."""
    stacked: bool = False
    """Whether intervals stand below their values."""

    def groups(self) -> Iterator[tuple[list[str], list[tuple[TableCell, ...]]]]:
        """Yield each heading's levels with its rows."""
        rows = zip(*(column.cells for column in self.columns), strict=True)
        by_heading = itertools.groupby(
            rows, lambda cells: [one.value for one in cells[: self.headings]]
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
        widths = [one.least(stacked=self.stacked) for one in beside]
        spare = room - sum(widths) - GAP * len(widths)
        if spare < 0:
            return None
        for index, one in enumerate(beside):
            more = min(spare, one.most(stacked=self.stacked) - widths[index])
            widths[index], spare = widths[index] + more, spare - more
        return widths


def fitted(findings: Findings, width: int) -> Fitted:
    """Lay out a table of all treatments in so many columns of text."""
    every = tuple(columns(findings))
    kept = tuple(column for column in every if not column.spare)
    names = sum(column.is_name for column in every)
    left_out = tuple(_in_a_line(column.header) for column in every if column.spare)
    layouts = [
        _Layout(every),
        *(_Layout(kept, count) for count in range(max(1, names))),
        *(_Layout(kept, count, stacked=True) for count in range(max(1, names))),
    ]
    for layout in sorted(layouts, key=lambda one: not one.is_dense):
        if widths := layout.widths(width):
            without = left_out if layout.columns is kept else ()
            return Fitted(Group(*_tables(layout, widths)), without)
    return Fitted(Group(*_paragraphs(every, width)))


def _tables(layout: _Layout, widths: Sequence[int]) -> Iterator[RenderableType]:
    """Yield a table for each heading, all with the same columns."""
    if named := layout.columns[: layout.headings]:
        yield Text(f"{', '.join(_in_a_line(one.header) for one in named)}:", "dim")
        yield _empty_table(layout, widths, with_header=True)
    for levels, group in layout.groups():
        if levels:
            yield Text(", ".join(levels))
        table = _empty_table(layout, widths, with_header=not levels)
        above = ""
        for cells in group:
            texts = [one.text(stacked=layout.stacked) for one in cells[layout.headings :]]
            if not levels and layout.columns[0].is_name and cells[0].value == above:
                texts[0] = Text()
            above = cells[0].value
            table.add_row(*texts)
        yield table


def _empty_table(layout: _Layout, widths: Sequence[int], *, with_header: bool) -> Table:
    table = Table(
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


def _paragraphs(every: Sequence[TableColumn], width: int) -> Iterator[RenderableType]:
    """Write each treatment as ``heading value; heading value; ...``, no value broken."""
    for cells in zip(*(column.cells for column in every), strict=True):
        parts = [
            f"{_in_a_line(column.header)} {unbroken}"
            for column, cell in zip(every, cells, strict=True)
            for unbroken in [cell.text(stacked=False).plain.replace(" ", NO_BREAK)]
        ]
        lines = textwrap.wrap(
            "; ".join(parts), width, subsequent_indent="    ", break_on_hyphens=False
        )
        yield from (Text(line.replace(NO_BREAK, " ")) for line in lines)


def _in_a_line(header: str) -> str:
    return " ".join(header.split())


def columns(findings: Findings) -> Iterator[TableColumn]:
    """Yield the columns: levels, number of values, metric, ratio, what else there is."""
    rows = list(findings.rows())
    yield from _names(findings)
    yield TableColumn("n", _plain(str(row.sample.n) for _, row in rows), right=True)
    yield _values(findings, [row for _, row in rows])
    if any(row.ratio for _, row in rows):
        yield _ratios(findings, [row for _, row in rows])
    if findings.metric != "goodput" and any(row.goodput for _, row in rows):
        yield _goodput(rows)
    for name, cells in shared(findings).items():
        if name != findings.metric:
            yield TableColumn(title(name), _plain(cells), right=True)
    for column in (*handovers.brief(findings), *bands.brief(findings)):
        yield TableColumn(column.header, _plain(column.cells), right=column.right, wraps=True)
    yield TableColumn("done", tuple(_done(row) for _, row in rows), right=True, wraps=True)


def _plain(texts: Iterable[str]) -> tuple[TableCell, ...]:
    return tuple(TableCell(visible(text)) for text in texts)


def _names(findings: Findings) -> Iterator[TableColumn]:
    rows = list(findings.rows())
    if findings.network:
        labels = [", ".join(condition.levels.values()) for condition, _ in rows]
        header = ", ".join(title(name) for name in findings.network)
        yield TableColumn(_folded(header), _plain(labels), wraps=True, is_name=True)
    for name in findings.others:
        header = "http" if name == "http_version" else title(name)
        cells = _plain(row.levels[name] for _, row in rows)
        yield TableColumn(_folded(header), cells, wraps=True, is_name=True)


def _values(findings: Findings, rows: Sequence[Row]) -> TableColumn:
    scale = table_format(findings)
    covered = coverage(row.estimate.interval for row in rows if row.estimate)
    cells = tuple(
        TableCell(scale.bounded(found.median), bracketed(scale, found.interval), "bold")
        if (found := row.estimate)
        else TableCell(DASH)
        for row in rows
    )
    return TableColumn(_folded(title(findings.metric), covered), cells)


def _ratios(findings: Findings, rows: Sequence[Row]) -> TableColumn:
    base = visible(base_name(findings)).replace("HTTP/", "H")
    covered = coverage(row.ratio.interval for row in rows if row.ratio)
    cells = tuple(_ratio(findings.metric, row) for row in rows)
    return TableColumn(_folded(f"paired ratio to {base}", covered), cells)


def _ratio(metric: str, row: Row) -> TableCell:
    if row.is_base:
        return TableCell("base", style="dim")
    if row.ratio is None:
        return TableCell(DASH)
    text, interval = ratio_text(row.ratio.value), ratio_brackets(row.ratio.interval)
    judgement = row.ratio.judgement
    if judgement in {"equal", "open"}:
        why = "equal" if judgement == "equal" else open_word(row.ratio)
        return TableCell(f"{text} ({why})", interval, "dim")
    better = METRICS[metric].better
    improved = better == ("lower" if judgement == "less" else "higher")
    return TableCell(
        text, interval, "" if better == "neither" else "green" if improved else "yellow"
    )


def _goodput(rows: Sequence[tuple[Condition, Row]]) -> TableColumn:
    ceilings = {ceiling(row) for _, row in rows}
    differ = len(ceilings) > 1
    cells = []
    for _, row in rows:
        text = goodput_number(row.goodput, row.ceiling_bit_s, 1) if row.goodput else DASH
        cells.append(f"{text} {ceiling(row)}" if differ and row.goodput else text)
    header = "goodput" if differ else "\n".join(["goodput", *ceilings])
    return TableColumn(header, _plain(cells), spare=True)


def _folded(header: str, covered: str = "") -> str:
    """Write a heading in short lines, with the coverage of the intervals below it."""
    lines = textwrap.wrap(visible(header), HEADER_WIDTH, break_long_words=False)
    return "\n".join([*lines, *([f"[{covered}]"] if covered else [])])


def _done(row: Row) -> TableCell:
    return TableCell(done(row), style="" if row.tally.completed == row.tally.planned else "yellow")
