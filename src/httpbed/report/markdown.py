"""The report as Markdown, for a pull request or the repository of a paper."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from httpbed.addons.claims import claims_section_report as claims_section
from httpbed.addons.pages.report import metrics_table
from httpbed.addons.pages.report.metrics_table import PageCell, PageTable
from httpbed.report import html_tables, terminal_columns, terminal_table
from httpbed.report.answer import answer
from httpbed.report.manifest import clock, under_test
from httpbed.report.markdown_text import escaped, table
from httpbed.report.notes import notes
from httpbed.report.phrasing import base_name
from httpbed.report.terminal_columns import TableCell, TableColumn
from httpbed.results.findings import Findings
from httpbed.store.results import Results

MOST_REASONS = 10
"""Reasons of trials that did not complete."""
SETTLED = ("green", "yellow")
"""Styles of ratios that differ for certain, which are bold here."""


def document(results: Results, findings: Findings) -> str:
    """Write question, answer, table, notes and evidence."""
    pages = metrics_table.make(results, findings)
    sections = (
        [f"**{escaped(results.experiment.question)}**"],
        _list("Claims", filter(None, [claims_section.counted(findings.claims)])),
        _list("Answer", map(str, answer(findings, results.document))),
        _treatments(findings),
        _page_metrics(pages, findings) if pages else (),
        _reasons(results, findings),
        _list("Before relying on it", notes(findings, results)),
        _list("Evidence", _evidence(results, findings)),
    )
    texts = ("\n".join(lines) for lines in sections)
    return "\n\n".join(filter(None, texts)) + "\n"


def _treatments(findings: Findings) -> Iterable[str]:
    columns = list(terminal_columns.columns(findings))
    return table(
        [_header(one) for one in columns],
        [one.right for one in columns],
        zip(*(map(_cell, one.cells) for one in columns), strict=True),
    )


def _header(column: TableColumn) -> str:
    return escaped(" ".join(column.header.split()))


def _cell(cell: TableCell) -> str:
    text = escaped(cell.text(stacked=False).plain)
    return f"**{text}**" if cell.style in SETTLED else text


def _page_metrics(pages: PageTable, findings: Findings) -> Iterator[str]:
    compared = f", in brackets the paired ratio to {escaped(base_name(findings))}"
    yield f"Medians of page loads{compared if pages.has_ratios else ''}:"
    yield ""
    names = [one for one in terminal_columns.columns(findings) if one.is_name]
    loads_page = [row.bands is not None for _, row in findings.rows()]
    levels = itertools.compress(
        zip(*(map(_cell, one.cells) for one in names), strict=True), loads_page
    )
    cells = (map(_page_cell, row.cells) for _, group in pages.groups for row in group)
    headers = [*map(_header, names), *(column.header for column in pages.columns)]
    right = [False] * len(names) + [True] * len(pages.columns)
    yield from table(headers, right, ([*a, *b] for a, b in zip(levels, cells, strict=True)))


def _page_cell(cell: PageCell) -> str:
    if not cell.ratio:
        return escaped(f"{cell.median} {cell.interval}")
    ratio = escaped(f"{cell.ratio} {cell.ratio_interval}")
    settled = cell.tone in {"better", "worse"}
    return f"{escaped(cell.median)} ({f'**{ratio}**' if settled else ratio})"


def _reasons(results: Results, findings: Findings) -> Iterator[str]:
    every = html_tables.reasons(findings, results.document)
    if not every:
        return
    yield "Trials that did not complete:"
    yield ""
    rows = (
        [escaped(where), escaped(outcome), str(count), escaped(reason)]
        for where, outcome, count, reason in every[:MOST_REASONS]
    )
    yield from table(
        ["treatment", "outcome", "trials", "reason"], [False, False, True, False], rows
    )
    if len(every) > MOST_REASONS:
        yield ""
        yield f"{len(every) - MOST_REASONS} further reasons are in the HTML report."


def _list(title: str, texts: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if not number:
            yield f"{title}:"
            yield ""
        yield f"- {escaped(text)}"


def _evidence(results: Results, findings: Findings) -> Iterator[str]:
    yield from terminal_table.evidence(findings)
    made_by = results.manifest
    yield from filter(None, [clock(made_by)])
    programs = [f"{one.name} {one.version}".strip() for one in under_test(made_by)]
    if programs:
        yield f"programs: {', '.join(programs)}"
    if made_by.get("httpbed"):
        yield f"measured with httpbed {made_by['httpbed']}"
