"""What a change cost: each treatment before and after, with its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.padding import Padding

from httpbed.experiment.metric import METRICS
from httpbed.report import markdown, terminal_report
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    compared_blocks,
    number_format,
    percent,
    sentence_case,
    title,
    whole_treatment,
)
from httpbed.report.terminal import Console
from httpbed.results import regression
from httpbed.results.campaign_comparison import ComparedTreatment
from httpbed.results.regression import GateVerdict, TreatmentChange

OPEN = 1e4
"""No two measured times have this ratio. Trials that timed out rank far beyond their limit."""
TONES: Mapping[GateVerdict, Tone] = {
    "pass": "settled",
    "regression": "worse",
    "inconclusive": "open",
}


def table(changes: Sequence[TreatmentChange], metric: str) -> Table:
    """Lay out a row for each treatment, with its verdict."""
    verdicts = (
        Cell(": ".join(filter(None, (one.verdict, one.reason))), tone=TONES[one.verdict])
        for one in changes
    )
    return compared_table(changes, metric, Column("verdict", tuple(verdicts), wraps=True))


def compared_table(
    rows: Sequence[ComparedTreatment],
    metric: str,
    *last: Column,
    sides: tuple[str, str] = ("before", "after"),
) -> Table:
    """Lay out both medians and the change of each treatment; times are in milliseconds."""
    scale = _scale(metric, [one.value for row in rows for one in row.medians if one])
    names = (whole_treatment(row.levels) for row in rows)
    medians = zip(*(row.medians for row in rows), strict=True)
    shares = {row.coverage for row in rows if row.coverage}
    covered = f"{'at least ' * (len(shares) > 1)}{percent(min(shares))}" if shares else ""
    return Table(
        "Change",
        f"{sentence_case(title(metric))} {' and '.join(sides)}"
        + (f"; the interval covers {covered}" if covered else ""),
        (
            Column.of("treatment", names, wraps=True),
            *(
                Column.of(header, (scale.bounded(one) if one else DASH for one in column))
                for header, column in zip(sides, medians, strict=True)
            ),
            Column(f"change [{covered}]" if covered else "change", tuple(map(_change, rows))),
            Column.of("n", (compared_blocks(row.pairs, row.blocks) for row in rows), wraps=True),
            *last,
        ),
    )


def _scale(metric: str, values: Sequence[float]) -> NumberFormat:
    scale = number_format(metric, values)
    if METRICS[metric].unit != "s":
        return scale
    smallest = 1000 * min(map(abs, values), default=1.0)
    return NumberFormat(
        1e-3, "ms", next((n for n, least in ((1, 100), (2, 10)) if smallest >= least), 3)
    )


def _change(one: ComparedTreatment) -> Cell:
    if not math.isfinite(one.ratio):
        return Cell(DASH)
    return Cell(f"{_percent(one.ratio)} %", f"[{_interval(one)}]")


def change_text(one: ComparedTreatment) -> str:
    """Return the change with its interval, such as ``+3.3 % [+3.1, +3.6]``; empty without one."""
    return f"{_percent(one.ratio)} % [{_interval(one)}]" if math.isfinite(one.ratio) else ""


def _interval(one: ComparedTreatment) -> str:
    ends = (one.low, one.high)
    return ", ".join("any" if not 1 / OPEN < end < OPEN else _percent(end) for end in ends)


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.{1 if abs(ratio - 1) >= 1e-3 else 2}f}"


def sentence(changes: Sequence[TreatmentChange]) -> str:
    """Sum up the treatments in one line."""
    counts = {kind: sum(one.verdict == kind for one in changes) for kind in TONES}
    found = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    return f"{len(changes)} treatment{'s' * (len(changes) != 1)}: {found}"


def causes(changes: Sequence[TreatmentChange]) -> Iterator[str]:
    """Say how many treatments are worse, and how many complete less often or no more."""
    worse = [one for one in changes if one.verdict == "regression"]
    never = sum(one.reason == regression.NEVER_COMPLETES for one in worse)
    fewer = sum(one.reason == regression.COMPLETES_LESS for one in worse)
    if len(worse) > fewer + never:
        yield f"{len(worse) - fewer - never} of {len(changes)} treatments worse than the baseline"
    if never:
        yield f"{never} {'treatment completes' if never == 1 else 'treatments complete'} no more"
    if fewer:
        yield f"{fewer} {'treatment completes' if fewer == 1 else 'treatments complete'} less often"


def show(changes: Sequence[TreatmentChange], metric: str, out: Console) -> None:
    """Print the table and its summary."""
    show_table(table(changes, metric), out)
    out.print(sentence(changes), soft_wrap=True)


def show_table(shown: Table, out: Console) -> None:
    """Print a table of treatments."""
    out.print(Padding(terminal_report.fitted(shown, out.width - 1).table, (0, 0, 0, 1)))


def in_markdown(
    question: str,
    changes: Sequence[TreatmentChange],
    metric: str,
    notes: Iterable[str],
    closing: str,
) -> str:
    """Write question, table, what differs else, and the verdict as GitHub Flavored Markdown."""
    shown = table(changes, metric) if changes else None
    parts = (
        [f"**{markdown.escaped(question)}**"],
        [markdown.escaped(f"{shown.caption}.")] if shown else [],
        markdown.lines_of(shown) if shown else [],
        markdown.listing("Before relying on it", notes),
        [markdown.escaped(closing)],
    )
    return "\n\n".join(filter(None, ("\n".join(part) for part in parts))) + "\n"


def values(changes: Sequence[TreatmentChange], metric: str, margin: float) -> Mapping[str, Any]:
    """Return the change for :func:`json.dumps`."""
    return {
        "metric": metric,
        "unit": METRICS[metric].unit,
        "margin": margin,
        "verdict": regression.verdict(changes),
        "treatments": list(map(_values, changes)),
    }


def _values(change: TreatmentChange) -> Mapping[str, Any]:
    verdict = {"verdict": change.verdict, "reason": change.reason}
    return {**compared_values(change), **verdict}


def compared_values(row: ComparedTreatment) -> Mapping[str, Any]:
    """Return a treatment's comparison for :func:`json.dumps`; what is not finite is null."""
    numbers = {"ratio": row.ratio, "low": row.low, "high": row.high}
    return {
        "levels": dict(row.levels),
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "medians": [asdict(one) if one else None for one in row.medians],
        "blocks": list(row.blocks),
        "pairs": row.pairs,
        "completed": [tally.completed for tally in row.tallies],
    }
