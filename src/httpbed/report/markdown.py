"""The report as Markdown, for a pull request or the repository of a paper.

Names of levels, and reasons of programs, come from users and servers. In a pull request they must
not become tables, links, HTML, mathematics, or mentions of people and issues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from httpbed.base.errors import visible
from httpbed.report.document import Cell, Table
from httpbed.report.sections import Document

MAX_ROWS = 10
"""Rows of a table without treatments, such as that of reasons."""
SETTLED = ("better", "worse")
"""Tones of ratios that differ for certain, which are bold here."""


def render(document: Document) -> str:
    """Write question, answer, tables, notes and evidence."""
    lines = [section.line for section in document.sections if section.line]
    blocks = (block for section in document.sections for block in section.blocks)
    brief = [block for block in blocks if isinstance(block, Table) and block.brief]
    by = f"measured with httpbed {document.httpbed}" if document.httpbed else ""
    programs = f"programs: {', '.join(document.programs)}" if document.programs else ""
    evidence = filter(None, [*document.evidence, document.clock, programs, by])
    parts = (
        [f"**{escaped(document.question)}**"],
        [f"In common: {escaped(document.in_common)}"] if document.in_common else [],
        listing("Claims", lines),
        listing("Answer", map(str, document.answer)),
        lines_of(document.treatments) if document.treatments.columns else [],
        *(part for one in brief for part in ([f"{escaped(one.caption)}"], lines_of(one))),
        listing("Before relying on it", document.notes),
        listing("Evidence", evidence),
    )
    texts = ("\n".join(part) for part in parts)
    return "\n\n".join(filter(None, texts)) + "\n"


def lines_of(one: Table) -> Iterator[str]:
    """Yield the lines of a table of the report."""
    columns = [column for column in one.columns if column.shown != "in HTML"]
    rows = [*zip(*(map(_cell, column.cells) for column in columns), strict=True)]
    shown = rows if one.names else rows[:MAX_ROWS]
    headers = [escaped(" ".join(column.header.split())) for column in columns]
    yield from table(headers, [column.right for column in columns], shown)
    if len(rows) > len(shown):
        yield ""
        yield f"{len(rows) - len(shown)} further rows are in the HTML report."


def _cell(cell: Cell) -> str:
    if cell.below:
        return f"{escaped(cell.text)} ({_cell(cell.below)})"
    text = escaped(f"{cell.text} {cell.aside}".rstrip())
    return f"**{text}**" if cell.tone in SETTLED else text


def listing(title: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a list below its title; nothing without texts."""
    for number, text in enumerate(texts):
        if not number:
            yield f"{title}:"
            yield ""
        yield f"- {escaped(text)}"


JOINER = "\N{WORD JOINER}"
"""Ends a mention after its sign: GitHub looks for mentions in the text that is rendered.

Written as an entity, because a terminal's output has unprintable characters as escapes.
"""
_MARKUP = re.compile(r"[\\`*_~|$]|\A\[|\](?=[(\[:])|(?<=\])\[")
"""Brackets only where they could be a link, so that intervals stay readable."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;&#8288;", "#": "&#35;&#8288;"}
_ENTITY = re.compile("[&<>@#]")
_ADDRESS = re.compile(r":(?=//)|(?<=\bwww)\.", re.IGNORECASE)
"""What makes an address out of plain text (GFM, section 6.9)."""
_LIST = re.compile(r"\A(\d*)([-+.)])(?=\s|\Z)")
"""What would begin a list at the start of a line."""


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    text = _MARKUP.sub(r"\\\g<0>", visible(text).strip())
    text = _ENTITY.sub(lambda sign: _ENTITIES[sign[0]], text)
    text = _ADDRESS.sub(lambda sign: f"&#{ord(sign[0])};", text)
    return _LIST.sub(r"\1\\\2", text)


def table(
    headers: Sequence[str], right: Sequence[bool], rows: Iterable[Sequence[str]]
) -> Iterable[str]:
    """Yield the lines of a table whose texts are Markdown already; ``right`` aligns columns."""
    yield _row(headers)
    yield _row(["---:" if one else "---" for one in right])
    for cells in rows:
        yield _row(cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
