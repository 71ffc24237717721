"""A status on a terminal, from its document. Imports nothing slow: a run draws it, too.

Characters that do not print become escapes before the layout, which would not count them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpbed.base.errors import visible
from httpbed.report.terminal import KEY_WIDTH
from httpbed.store import damage
from httpbed.store.damage import Damage

Document = Mapping[str, Any]
MAX_REASONS = 5
"""So many reasons are shown of each list; the others are counted."""
FEW_REASONS = 2
"""So many beside a run."""
ROWS_BESIDE = 7
"""Rows of the heading, the table's heading, the note and the lines between."""


def whole(document: Document, rows: int) -> RenderableType:
    """Lay out what a watch shows: what fits into so many rows."""
    return Group(Text(visible(heading(document))), details(document, rows))


def details(document: Document, rows: int | None = None) -> RenderableType:
    """Lay out what stands below the heading: everything, or what fits into so many rows."""
    damaged = [Damage(one["place"], tuple(one["reasons"])) for one in document["damaged"]]
    facts = [("question", document["question"]), *_endings(document)]
    most = None if rows is None else max(1, rows - len(facts) - len(damaged) - ROWS_BESIDE)
    return Group(
        *map(Text, damage.lines(damaged, document["directory"])),
        *_facts(facts),
        Padding(treatments(document, most), (1, 0, 0, 1)),
        *([Text(document["note"], "dim")] if document["note"] else []),
    )


def beside_a_run(document: Document, rows: int) -> RenderableType:
    """Lay out what stands below the progress bar of a run, in at most so many rows."""
    endings = [("ended", document["counts"]), *_reasons(document, FEW_REASONS)]
    return Group(
        *_facts(endings, in_a_line=True), treatments(document, max(1, rows - len(endings) - 2))
    )


def heading(document: Document) -> str:
    """Say in a line how far a campaign is, and how its trials ended."""
    ended = f"{document['directory']}: {document['progress']}: {document['counts']}"
    return f"{ended}; {document['state']}"


def _endings(document: Document) -> Iterator[tuple[str, str]]:
    yield from _reasons(document, MAX_REASONS)
    if last := document["last_invalid"]:
        where = f"{last['treatment']}, block {last['block']}, attempt {last['attempt']}"
        yield "latest", f"invalid attempt of {where}: {last['reason']}"


def _reasons(document: Document, most: int) -> Iterator[tuple[str, str]]:
    for key, reasons in (
        ("failures", document["failures"]),
        ("invalid", document["invalid_attempts"]),
    ):
        for row in reasons[:most]:
            whose = f"{row['programs']}: " if row["programs"] else ""
            kind = f"{row['outcome']}: " if row["outcome"] not in {"failed", "invalid"} else ""
            yield key, f"{row['count']}x {kind}{whose}{row['reason']}"
        if rest := sum(row["count"] for row in reasons[most:]):
            yield key, f"{rest}x for {len(reasons) - most} further reasons"


def _facts(
    lines: Sequence[tuple[str, str]], *, in_a_line: bool = False
) -> Iterator[RenderableType]:
    if not lines:
        return
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=KEY_WIDTH, no_wrap=True, style="dim")
    grid.add_column()
    above = ""
    for key, line in lines:
        text = Text(visible(line), no_wrap=in_a_line, overflow="ellipsis" if in_a_line else "fold")
        grid.add_row("" if key == above else key, text)
        above = key
    yield grid


def treatments(document: Document, most: int | None = None) -> RenderableType:
    """Lay out the estimates of the treatments, or of the first ones."""
    rows = document["treatments"]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in rows[0]["levels"] if rows else ():
        table.add_column(Text(visible(" ".join(name.split("_")))), overflow="fold")
    metric = document["metric"]
    covered = f" [{metric['coverage']}]" if metric["coverage"] else ""
    table.add_column("n", justify="right")
    table.add_column(Text(f"{metric['title']}{covered}"), overflow="fold")
    table.add_column("done", justify="right")
    for row in rows[:most]:
        levels = [Text(visible(level)) for level in row["levels"].values()]
        value = Text.assemble((row["median"], "bold"), f" {row['interval']}".rstrip())
        done = f"{row['completed']}/{row['planned']}"
        table.add_row(*levels, str(row["n"]), value, done)
    rest = len(rows[most:]) if most is not None else 0
    return Group(table, Text(f"and {rest} more treatments", "dim")) if rest else table
