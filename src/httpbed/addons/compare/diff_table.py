"""Compared treatments as a table and as JSON values, and the sentences of ``httpbed diff``."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.padding import Padding

from httpbed.addons.compare.campaign_comparison import ComparedTreatment, TreatmentDifference
from httpbed.base.units import format_count, format_share
from httpbed.experiment.design import Difference
from httpbed.experiment.metric import METRICS
from httpbed.report import terminal_report
from httpbed.report.document import Cell, Column, Table, Tone
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    compared_blocks,
    counted,
    number_format,
    sentence_case,
    title,
    whole_treatment,
)
from httpbed.report.terminal import Console
from httpbed.store import resume
from httpbed.store.results import Results

OPEN = 1e4
"""No two measured times have this ratio. Trials that timed out rank far beyond their limit."""


def compared_table(
    rows: Sequence[ComparedTreatment],
    metric: str,
    *last: Column,
    sides: tuple[str, str] = ("before", "after"),
) -> Table:
    """Lay out both medians and the change of each treatment; times are in milliseconds."""
    scale = _scale(metric, [median.value for row in rows for median in row.medians if median])
    names = (whole_treatment(row.levels) for row in rows)
    medians = zip(*(row.medians for row in rows), strict=True)
    shares = {row.coverage for row in rows if row.coverage}
    covered = f"{'at least ' * (len(shares) > 1)}{format_share(min(shares))}" if shares else ""
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
            Column(f"change [{covered}]" if covered else "change", tuple(map(_change_cell, rows))),
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


def _change_cell(one: ComparedTreatment) -> Cell:
    if not math.isfinite(one.ratio):
        return Cell(DASH)
    return Cell(f"{_percent(one.ratio)} %", _interval(one))


def _interval(one: ComparedTreatment) -> str:
    """Return the interval in brackets; empty if its blocks are too few for either end."""
    ends = ["any" if not 1 / OPEN < end < OPEN else _percent(end) for end in (one.low, one.high)]
    return "" if ends == ["any", "any"] else f"[{', '.join(ends)}]"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.{1 if abs(ratio - 1) >= 1e-3 else 2}f}"


def show_table(shown: Table, out: Console) -> None:
    """Print a table of treatments."""
    fitted, _ = terminal_report.fitted(shown, out.width - 1)
    out.print(Padding(fitted, (0, 0, 0, 1)))


def change_text(one: ComparedTreatment) -> str:
    """Return the change with its interval, such as ``+3.3 % [+3.1, +3.6]``; empty without one."""
    text = f"{_percent(one.ratio)} % {_interval(one)}" if math.isfinite(one.ratio) else ""
    return text.rstrip()


def compared_values(row: ComparedTreatment) -> Mapping[str, Any]:
    """Return a treatment's comparison for :func:`json.dumps`; what is not finite is null."""
    numbers = {"ratio": row.ratio, "low": row.low, "high": row.high}
    return {
        "levels": dict(row.levels),
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "medians": [asdict(median) if median else None for median in row.medians],
        "blocks": list(row.blocks),
        "pairs": row.pairs,
        "completed": [tally.completed for tally in row.tallies],
    }


def changes(old: Results, new: Results, settings: Sequence[Difference]) -> list[Difference]:
    """List the settings and versions that differ between the campaigns."""
    versions = [
        Difference(name, before, now)
        for name, before, now in resume.differences(old.manifest, new.manifest)
        if name not in {difference.key for difference in settings}
    ]
    own = [one.manifest.get("httpbed", "") for one in (old, new)]
    httpbed = [Difference("httpbed", *own)] if own[0] != own[1] else []
    return [*settings, *httpbed, *versions]


def show(differences: Sequence[TreatmentDifference], metric: str, out: Console) -> None:
    """Print a line for each treatment."""
    completed = (
        ", ".join(f"{tally.completed}/{tally.ended}" for tally in difference.tallies)
        for difference in differences
    )
    words = tuple(
        Cell(_words(difference), tone=_tone(difference, metric)) for difference in differences
    )
    last = Column.of("completed", completed), Column("difference", words, wraps=True)
    show_table(compared_table(differences, metric, *last, sides=("A", "B")), out)


def _words(difference: TreatmentDifference) -> str:
    completes = f"completes {difference.completes}" if difference.completes != "alike" else ""
    if not math.isfinite(difference.ratio):
        return completes or _why_no_ratio(difference)
    return " and ".join(filter(None, (difference.change, completes)))


def _why_no_ratio(difference: TreatmentDifference) -> str:
    without = [name for name, median in zip("AB", difference.medians, strict=True) if not median]
    return f"no value in {' and '.join(without)}" if without else "no ratio: a value is zero"


def _tone(difference: TreatmentDifference, metric: str) -> Tone:
    if difference.completes != "alike":
        return "worse" if difference.completes == "less often" else "better"
    better = METRICS[metric].better
    if difference.change not in ("lower", "higher") or better == "neither":
        return ""
    return "better" if difference.change == better else "worse"


def sentence(differences: Sequence[TreatmentDifference]) -> str:
    """Sum up the treatments in one line."""
    kinds = ("lower", "higher", "equal", "open")
    return counted("treatment", [difference.change for difference in differences], kinds)


def notes(
    differences: Sequence[TreatmentDifference], alone: tuple[int, int], clocks: Collection[str]
) -> Iterator[str]:
    """Yield what limits the comparison of campaigns by these clocks."""
    if "real" in clocks:
        yield (
            "the campaigns ran at different times: changes of the machine between them count as"
            " changes of the programs"
        )
    unpaired = sum(
        not difference.pairs and math.isfinite(difference.ratio) for difference in differences
    )
    if unpaired:
        yield (
            f"{unpaired} of {len(differences)} treatments have no trial in common, so their blocks"
            " are not paired; equal blocks, seeds and settings pair them"
        )
    for name, count in zip("AB", alone, strict=True):
        if count:
            yield f"{format_count(count, 'treatment')} only in {name}, not compared"


def values(
    differences: Sequence[TreatmentDifference],
    changed: Sequence[Difference],
    metric: str,
    alone: tuple[int, int],
) -> Mapping[str, Any]:
    """Return the comparison for :func:`json.dumps`."""
    return {
        "schema": 1,
        "metric": metric,
        "changes": [
            {"key": difference.key, "a": difference.before, "b": difference.now}
            for difference in changed
        ],
        "treatments": [_values(difference) for difference in differences],
        "only_in": {"a": alone[0], "b": alone[1]},
    }


def _values(difference: TreatmentDifference) -> Mapping[str, Any]:
    return {
        **compared_values(difference),
        "low": difference.low if 0 < difference.low < math.inf else None,
        "change": difference.change,
        "completes": difference.completes,
        "coverage": difference.coverage,
        "recorded": [tally.recorded for tally in difference.tallies],
    }
