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
    groups = defaultdict[tuple[str, str], list[Cell]](list)
    for cell in cells:
        if "failed" not in cell:
            groups[cell["study"], _slower(cell)].append(cell)
    if not groups:
        return
    yield "## Why HTTP/2 and HTTP/3 differ"
    yield (
        "Two trials of a cell in which the medians differ by more than 10 % ran again in virtual"
        " time, and `httpbed explain --why` divided their difference ([method](guides/explain.md))."
        " The table has what the slower one spends more on, and in how many cells a lifted limit"
        " took its cause away. [Each cell](../results/explained/README.md) has its times and what"
        " was lifted; that page also counts the cells that did not run again yet."
    )
    head = ["campaign", "slower", "cells", "spends more on", "confirmed"]
    studies = [study for study, _ in groups]
    order = sorted(groups, key=lambda names: (studies.index(names[0]), names[1]))
    yield table(head, [[*names, *_row(groups[names])] for names in order])


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
