"""The part of the results page on why versions differ, from ``results/explained``."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from markdown_table import table

Cell = Mapping[str, Any]
WORTH = 0.1
"""Share of the difference from which on a cause of responses is named."""


def section(file: Path) -> Iterator[str]:
    """Yield a table of the explained cells by study; nothing without any."""
    cells = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    explained = [cell for cell in cells if "failed" not in cell]
    groups = defaultdict[tuple[str, str], list[Cell]](list)
    for cell in explained:
        if _is_as_published(cell):
            groups[cell["study"], _slower(cell)].append(cell)
    if not groups:
        return
    others = len(explained) - sum(map(len, groups.values()))
    left_out = f" {others} cells are left out: their two trials differ the other way."
    yield "## Why HTTP/2 and HTTP/3 differ"
    yield (
        "Two trials of a cell in which the medians differ by more than 10 % ran again in virtual"
        " time, and `httpbed explain --why` divided their difference ([method](guides/explain.md))."
        " The table has what the slower one spends more on, and in how many cells a lifted limit"
        " took its cause away. [Each cell](../results/explained/README.md) has its times and what"
        " was lifted; that page also counts the cells that did not run again yet."
        + (left_out if others else "")
    )
    head = ["campaign", "slower", "cells", "spends more on", "confirmed"]
    yield table(head, [[*names, *_row(some)] for names, some in sorted(groups.items())])


def _is_as_published(cell: Cell) -> bool:
    """Whether the same version was slower in the two trials as by the medians."""
    published = cell["published"]
    by_medians = "HTTP/3" if published["http3_s"] > published["http2_s"] else "HTTP/2"
    return by_medians == _slower(cell)


def _slower(cell: Cell) -> str:
    http3_s, http2_s = cell["again_s"]
    return "HTTP/3" if http3_s > http2_s else "HTTP/2"


def _row(cells: Sequence[Cell]) -> list[str]:
    causes = Counter(map(_cause, cells))
    tried = [cell["lifts"] for cell in cells if "lifted_s" in cell]
    confirmed = sum(any(lift["confirmed"] for lift in lifts) for lifts in tried)
    return [
        str(len(cells)),
        ", ".join(f"{cause} ({count})" for cause, count in causes.most_common()),
        f"{confirmed} of {len(tried)}" if tried else "not tried",
    ]


def _cause(cell: Cell) -> str:
    """Return what the slower one spends more on; of a page's responses, what its packets say."""
    waited = cell.get("waited") or {}
    name = max(waited, key=lambda one: waited[one], default="")
    is_of_responses = cell["cause"] in {"server", "slower than the link"}
    is_named = bool(name) and waited[name] >= WORTH * cell["difference_s"]
    return name if is_of_responses and is_named else str(cell["cause"])
