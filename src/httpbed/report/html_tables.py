"""The tables of the HTML report as words and numbers, without markup."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.addons.claims.claim_matrix import tone
from httpbed.addons.handover.handovers_report import Column
from httpbed.experiment.metric import METRICS
from httpbed.report import access, levels, network, roles
from httpbed.report.phrasing import (
    DASH,
    FEW_BLOCKS,
    NumberFormat,
    agreeing_blocks,
    base_name,
    ceiling,
    covering,
    goodput_number,
    percent,
    ratio_interval,
    ratio_text,
    shared,
    table_format,
    title,
    treatment,
)
from httpbed.results.comparison import LEAST_BLOCKS, Judgement, Ratio
from httpbed.results.findings import Condition, Findings, Row
from httpbed.store.results import Results

MOST_LISTED = 500
"""Treatments, or rows of another table: a browser takes seconds to lay out thousands."""
MOST_CHANGES = 100
"""Of a link, that the page lists."""
JUDGEMENTS: Mapping[Judgement, str] = {
    "less": "less",
    "more": "more",
    "equal": "equal",
    "open": "within noise",
}


@dataclass(frozen=True)
class TreatmentRow:
    """One treatment in the table of medians, and in that of completion."""

    treatment: str
    n: str
    median: str
    interval: str
    mean: str
    ratio: str
    ratio_interval: str
    of_medians: str
    """The ratio of both medians, where it is another number than the median ratio."""
    blocks: str
    judgement: str
    tone: str
    """The class of the ratio's cell, as :attr:`MatrixCell.tone`."""
    goodput: str
    shared: tuple[str, ...]
    """As :attr:`Headings.shared`."""
    done: str
    endings: str
    """Outcomes other than completed, in words."""
    share: float
    """Completed over planned."""


@dataclass(frozen=True)
class ConditionRows:
    """A condition and its treatments."""

    condition: str
    lines: tuple[TreatmentRow, ...]


@dataclass(frozen=True)
class Headings:
    """Column headings that depend on the data."""

    metric: str
    interval: str
    base: str
    ratio_interval: str
    goodput: str
    shared: tuple[str, ...]
    """Titles of the fairness columns, where clients compete."""
    compared: bool
    """Whether any treatment has a ratio."""


@dataclass(frozen=True)
class Definition:
    """A metric's definition."""

    name: str
    unit: str
    source: str
    meaning: str


def groups(findings: Findings, document: Mapping[str, Any]) -> list[ConditionRows]:
    """Lay out every condition with its treatments."""
    texts = _shared(findings).values()
    beside = zip(*texts, strict=True) if texts else itertools.repeat(())
    scale, common = table_format(findings), _shared_ceiling(findings)
    return [
        ConditionRows(
            network.condition(document, condition.levels) or "the one condition",
            tuple(
                _line(findings, row, next(beside), scale, has_common_ceiling=bool(common))
                for row in condition.rows
            ),
        )
        for condition in findings.conditions
    ]


def cells(
    findings: Findings, document: Mapping[str, Any], columns: Sequence[Column]
) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Lay out cells of further columns by condition and treatment."""
    rows = iter(zip(*(column.cells for column in columns), strict=True))
    return [
        (
            network.condition(document, condition.levels) or "the one condition",
            [(treatment(row.levels, findings.others), list(next(rows))) for row in condition.rows],
        )
        for condition in findings.conditions
    ]


def headings(findings: Findings) -> Headings:
    """Name the columns of the table of medians."""
    rows = [row for _, row in findings.rows()]
    shows_goodput = not findings.has_pages or any(row.goodput for row in rows)
    return Headings(
        metric=title(findings.metric),
        interval=covering(r.estimate.interval for r in rows if r.estimate),
        base=base_name(findings),
        ratio_interval=covering(r.ratio.interval for r in rows if r.ratio),
        goodput=f"goodput {_shared_ceiling(findings)}".rstrip() if shows_goodput else "",
        shared=tuple(map(title, _shared(findings))),
        compared=any(row.ratio for row in rows),
    )


def conditions(findings: Findings, results: Results) -> list[tuple[str, str]]:
    """List what is varied, left out and held, in the author's own levels."""
    document, experiment = results.document, results.experiment
    varied = [
        (title(name), ", ".join(some) + (" (network)" if name in findings.network else ""))
        for name, some in document.get("factors", {}).items()
    ]
    held = [("link", line) for line in network.sentences(document, MOST_CHANGES)]
    held += [("hand-over", line) for line in [access.line(document)] if line]
    others = [("competitor", line) for line in roles.competitors(document)]
    left_out = [("left out", line) for line in levels.left_out(experiment)]
    return [*varied, *left_out, *held, ("workload", roles.workload(document)), *others]


def definitions(results: Results) -> Iterator[Definition]:
    """Define every metric that was observed, in the order of the descriptors."""
    table = results.observations
    sources: dict[str, set[str]] = {}
    columns = (table[name].to_pylist() for name in ("metric", "source"))
    for metric, source in set(zip(*columns, strict=True)):
        sources.setdefault(metric, set()).add(source)
    for name, metric in METRICS.items():
        if name in sources:
            unit = metric.form if metric.unit == "1" else metric.unit
            yield Definition(title(name), unit, ", ".join(sorted(sources[name])), metric.meaning)


def _shared(findings: Findings) -> dict[str, list[str]]:
    return {name: cells for name, cells in shared(findings).items() if name != findings.metric}


def _line(
    findings: Findings,
    row: Row,
    beside: tuple[str, ...],
    scale: NumberFormat,
    *,
    has_common_ceiling: bool,
) -> TreatmentRow:
    estimate, ratio = row.estimate, row.ratio
    return TreatmentRow(
        treatment=treatment(row.levels, findings.others),
        n=str(row.sample.n),
        median=scale.bounded(estimate.median) if estimate else DASH,
        interval=scale.interval(estimate.interval) if estimate else DASH,
        mean=_mean(scale.finer(), row),
        ratio="base" if row.is_base else ratio_text(ratio.value) if ratio else DASH,
        ratio_interval=ratio_interval(ratio.interval) if ratio else "",
        of_medians=_of_medians(ratio) if ratio else "",
        blocks=agreeing_blocks(ratio) if ratio and ratio.judgement in {"less", "more"} else "",
        judgement=_judgement(ratio) if ratio else "",
        tone=tone(findings.metric, ratio) if ratio else "",
        goodput=_goodput(row, has_common_ceiling=has_common_ceiling),
        shared=beside,
        done=f"{row.tally.completed}/{row.tally.planned}",
        endings=_endings(row),
        share=row.tally.completed / row.tally.planned if row.tally.planned else 0.0,
    )


def _of_medians(ratio: Ratio) -> str:
    text = ratio_text(ratio.of_medians)
    return "" if text == ratio_text(ratio.value) else text


def _judgement(ratio: Ratio) -> str:
    if ratio.judgement == "open" and ratio.n < LEAST_BLOCKS:
        return "one block" if ratio.n == 1 else f"not settled: {FEW_BLOCKS}"
    return JUDGEMENTS[ratio.judgement]


def _mean(scale: NumberFormat, row: Row) -> str:
    found = row.estimate
    if found is None or found.mean is None:
        return DASH
    text = scale.number(found.mean)
    if found.deviation is not None:
        text += f" ± {scale.number(found.deviation)}"
    return f"{text} ({found.left_out} left out)" if found.left_out else text


def _goodput(row: Row, *, has_common_ceiling: bool) -> str:
    if row.goodput is None:
        return DASH
    text = goodput_number(row.goodput, row.ceiling_bit_s, 2)
    return text if has_common_ceiling else f"{text} {ceiling(row)}"


def _shared_ceiling(findings: Findings) -> str:
    ceilings = {ceiling(row) for _, row in findings.rows() if row.ceiling_bit_s}
    limited = all(row.ceiling_bit_s for _, row in findings.rows())
    return ceilings.pop() if limited and len(ceilings) == 1 else ""


def _endings(row: Row) -> str:
    kinds = ("timed out", "failed", "unsupported", "invalid")
    texts = [f"{row.tally.outcomes[kind]} {kind}" for kind in kinds if row.tally.outcomes[kind]]
    missing = row.tally.planned - sum(row.tally.outcomes.values())
    return ", ".join([*texts, f"{missing} not run yet"] if missing > 0 else texts)


def reasons(findings: Findings, document: Mapping[str, Any]) -> list[tuple[str, str, int, str]]:
    """List why trials did not complete: treatment, outcome, number, reason."""
    return [
        (_where(findings, document, condition, row), outcome, count, reason)
        for condition, row in findings.rows()
        for (outcome, reason), count in row.tally.reasons.most_common()
    ]


def _where(findings: Findings, document: Mapping[str, Any], condition: Condition, row: Row) -> str:
    at = network.condition(document, condition.levels)
    label = treatment(row.levels, findings.others)
    return f"{label} at {at}" if at else label


def completion(findings: Findings) -> str:
    """Return a sentence about how many trials completed."""
    tally = findings.tally
    share = percent(tally.completed / tally.planned) if tally.planned else DASH
    return f"{tally.completed} of {tally.planned} planned trials completed ({share})."
