"""Why versions differ, from ``results/explained``: a part of the results page, and its own page.

``experiments/explain.py`` explains the cells, and writes ``results/explained/README.md`` by
:func:`page`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.addons.explain.lifts import REMOVED
from markdown_table import table

Cell = Mapping[str, Any]
CELLS = "explained/cells.jsonl"
"""The file of the kept cells, below the folder of results."""
WORTH = 0.25
"""Share of the difference from which on a cause counts."""
LEAST = f"{100 * WORTH:.0f} %"
INTRODUCTION = (
    "Cells of the published campaigns in which the medians of HTTP/2 and HTTP/3, of five loads or"
    " more, differ by more than 10 %, each with what the difference was spent on. Two trials of"
    " each cell ran again in virtual time (`httpbed explain --why`, n = 1 each): those of the block"
    " in which the two differed most nearly as their medians. The causes are those of the whole"
    f" transfer, or of a page's critical path; those of at least {LEAST} of the difference are"
    " named. *Lifted* are limits of the slower one, one after another, until it was as fast as the"
    " other; *saved* is what they saved together. *Confirmed*: with the limit its cause went away."
    " Written by `python experiments/explain.py --page`."
)


REASONS = {
    "its connection takes a round trip more to set up": {"set-up"},
    "packets are lost": {"congestion window", "recovery", "timeout", "repeated bytes"},
    "the server's congestion window is still small": {"slow start"},
    "its requests wait for the client's congestion window": {"client's congestion window"},
    "a window or buffer is too small": {"fixed window", "receiver's window"},
    "other responses come first": {"other responses"},
    "the browser asks later": {"client"},
}
"""What causes have in common, in words."""
MAX_REASONS = 3


def summary(file: Path, results: str = "") -> Iterator[str]:
    """Yield why the versions differ; nothing without any cell.

    ``results`` is the way to the page of the results.
    """
    rows = read(file)
    explained = _explained(rows)
    cells = _as_published(explained)
    if not cells:
        return
    parts = []
    for version in ("HTTP/2", "HTTP/3"):
        slower = [cell for cell in cells if _slower(cell) == version]
        reasons = [
            (words, [cell for cell in slower if not causes.isdisjoint(_parts(cell))], causes)
            for words, causes in REASONS.items()
        ]
        reasons.sort(key=lambda reason: -len(reason[1]))
        most = [
            f"in {_count(some, causes)} because {words}"
            for words, some, causes in reasons[:MAX_REASONS]
            if some
        ]
        parts.append(f"{version} is slower in {len(slower)}{': ' * bool(most)}{', '.join(most)}.")
    gone = f"{100 * (1 - REMOVED):.0f} %"
    yield (
        f"**Why the two differ.** HTTP/2 and HTTP/3 differ by more than 10 % in {len(rows)} cells"
        f" with five loads or more. Two trials of each cell ran again. {len(explained)} are"
        f" explained; in {len(cells)} the same version was slower again. {' '.join(parts)} Each of"
        f" these causes is at least {LEAST} of the difference, so a cell may have several."
        f" *Confirmed*: the slower trial ran once more with a limit lifted, such as without losses."
        f" It took less time, and at least {gone} of that cause's time was gone"
        f" ([which cells]({results}#why-http2-and-http3-differ))."
    )


def _count(cells: Sequence[Cell], causes: Collection[str]) -> str:
    """Count cells, and those of them in which lifting one of the causes was confirmed."""
    confirmed = sum(
        any(lift["confirmed"] and lift["cause"] in causes for lift in cell["lifts"])
        for cell in cells
    )
    return f"{len(cells)} (confirmed in {confirmed})" if confirmed else f"{len(cells)}"


def read(file: Path) -> list[Cell]:
    """Return the kept cells, those that could not be explained as well."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _explained(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if "failed" not in cell]


def _as_published(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if _is_as_published(cell)]


def section(file: Path) -> Iterator[str]:
    """Yield a table of the explained cells by study; nothing without any."""
    explained = _explained(read(file))
    groups = defaultdict[tuple[str, str], list[Cell]](list)
    for cell in _as_published(explained):
        groups[cell["study"], _slower(cell)].append(cell)
    if not groups:
        return
    others = len(explained) - sum(map(len, groups.values()))
    left_out = f" {others} cells are left out: their two trials differ the other way."
    yield "## Why HTTP/2 and HTTP/3 differ"
    yield (
        "Two trials of a cell in which the medians, of five loads or more, differ by more than 10 %"
        " ran again in virtual time, and `httpbed explain --why` divided their difference"
        " ([method](guides/explain.md))."
        " The table counts the cells in which the slower one spends more on a cause, by at least"
        f" {LEAST} of the difference, and the cells in which a lifted limit took a cause away."
        " [Each cell](../results/explained/README.md) has its times and what was lifted; that page"
        " also counts the cells that are not explained." + (left_out if others else "")
    )
    head = ["campaign", "slower", "cells", "spends more on", "confirmed"]
    yield table(head, [[*names, *_row(some)] for names, some in sorted(groups.items())])


def _is_as_published(cell: Cell) -> bool:
    """Whether the same version was slower in the two trials as by the medians."""
    http3_s, http2_s = cell["again_s"]
    return bool((_published_ratio(cell) > 1) == (http3_s > http2_s))


def _slower(cell: Cell) -> str:
    http3_s, http2_s = cell["again_s"]
    return "HTTP/3" if http3_s > http2_s else "HTTP/2"


def _row(cells: Sequence[Cell]) -> list[str]:
    causes = Counter(name for cell in cells for name in _parts(cell))
    confirmed = sum(any(lift["confirmed"] for lift in cell["lifts"]) for cell in cells)
    return [
        str(len(cells)),
        ", ".join(f"{cause} ({count})" for cause, count in causes.most_common()),
        f"{confirmed} of {len(cells)}",
    ]


def _parts(cell: Cell) -> dict[str, float]:
    """Return what the slower one spends more on with its seconds, the most first."""
    parts = sorted(cell["causes"].items(), key=lambda part: -part[1])
    return {name: seconds for name, seconds in parts if seconds >= WORTH * cell["difference_s"]}


def page(rows: Sequence[Cell], expected: Mapping[str, int]) -> str:
    """Write the page: a chapter for each campaign, its cells from HTTP/3's best to its worst."""
    done = _explained(rows)
    others = sum(expected.values()) - len(rows)
    lines = [
        "# The studies explained",
        "",
        INTRODUCTION,
        "",
        f"{len(done)} of {sum(expected.values())} cells are explained"
        + (f", {len(rows) - len(done)} could not be" if len(rows) > len(done) else "")
        + (f"; {others} did not run again yet" if others else "")
        + ".",
    ]
    for study, count in expected.items():
        if mine := sorted((row for row in done if row["study"] == study), key=_published_ratio):
            lines += ["", f"## {study}", "", *_chapter(mine, count)]
    failed = [row for row in rows if "failed" in row]
    if failed:
        lines += ["", "## Not explained", ""]
        lines += [
            f"- {row['study']}: {', '.join(_condition(row))}: {row['failed']}" for row in failed
        ]
    return "\n".join([*lines, ""])


def _chapter(rows: Sequence[Cell], count: int) -> list[str]:
    parts = [_condition(row) for row in rows]
    alike = {part for part in parts[0] if all(part in other for other in parts)}
    told = [part for part in parts[0] if part in alike]
    if "metric" in rows[0]:
        told.append(f"up to `{rows[0]['metric']}`")
    of_all = f"; in all of them {', '.join(told)}" if told else ""
    head = "cell | HTTP/3 / HTTP/2 | again | the slower one spends more on"
    return [
        f"{len(rows)} of {count} cells{of_all}.",
        "",
        f"| {head} | lifted | saved | of the difference |",
        "| --- | ---: | ---: | --- | --- | ---: | ---: |",
        *(_line(row, alike) for row in rows),
    ]


def _condition(row: Cell) -> list[str]:
    """Return the levels of a cell, and its two programs."""
    both = [name for name, level in row["http2"].items() if row["http3"][name] == level]
    other = [name for name in row["http2"] if name not in both]
    versus = [f"{row['http3'][name]} against {row['http2'][name]}" for name in other]
    return [*(f"{name} {row['http2'][name]}" for name in both), *versus]


def _line(row: Cell, alike: Collection[str]) -> str:
    http3_s, http2_s = row["again_s"]
    helped = [
        f"{rung['lifted']}{' (confirmed)' if rung['confirmed'] else ''}"
        for rung in row["lifts"]
        if rung["kept"]
    ]
    saved = ["; ".join(helped) or "nothing helped", "", ""]
    if helped:
        saved_s = max(row["again_s"]) - row["lifted_s"]
        saved[1:] = [f"{saved_s:.3g} s", _share(saved_s, row)]
    published, again = _published_ratio(row), http3_s / http2_s
    other_way = "" if _is_as_published(row) else ", the other way"
    ratios = [f"{published:.2f}", f"{again:.2f}{other_way}"]
    differs = ", ".join(part for part in _condition(row) if part not in alike)
    return f"| {' | '.join([differs, *ratios, _causes(row), *saved])} |"


def _causes(row: Cell) -> str:
    """Return what the slower one spends more on."""
    parts = _parts(row).items()
    told = ", ".join(f"{name} {seconds:.3g} s ({_share(seconds, row)})" for name, seconds in parts)
    if "metric" in row and row["held"]:
        told += f"; `{row['held']}` held bodies while the link was idle for {row['held_s']:.3g} s"
    return told


def _published_ratio(row: Cell) -> float:
    ratio: float = row["published"]["http3_s"] / row["published"]["http2_s"]
    return ratio


def _share(seconds: float, row: Cell) -> str:
    return f"{100 * seconds / row['difference_s']:.0f} %"
