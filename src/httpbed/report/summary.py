"""Findings as plain values for ``--json``: what the tables say, unrounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from httpbed.addons.handover.handover_samples import HandoverCosts
from httpbed.addons.pages import page_metrics
from httpbed.addons.pages.page_metrics import PageMetric
from httpbed.experiment.metric import METRICS
from httpbed.experiment.treatment import treatment_key
from httpbed.report import notes
from httpbed.report.answer import answer
from httpbed.results.comparison import Ratio
from httpbed.results.estimate import Estimate, Interval
from httpbed.results.findings import Findings, Row
from httpbed.results.sample import Bounded, Tally
from httpbed.store.results import Results


def summary(results: Results, findings: Findings, report: Path | None) -> dict[str, Any]:
    """Return findings ready for :func:`json.dumps`; censored figures carry ``beyond``."""
    pages = page_metrics.of_campaign(results, findings)
    return {
        "schema": 1,
        "name": results.experiment.name,
        "question": results.experiment.question,
        "clock": results.manifest.get("clock", "real"),
        "metric": findings.metric,
        "unit": METRICS[findings.metric].unit,
        "base": dict(findings.base),
        "answer": [str(sentence) for sentence in answer(findings, results.document)],
        "treatments": [
            {
                **_treatment(row),
                "page_metrics": _page_metrics(pages.get(treatment_key(row.levels))),
            }
            for _, row in findings.rows()
        ],
        "trials": _tally(findings.tally),
        "checks": [asdict(check) for check in findings.checks],
        "invalid_attempts": [
            {**asdict(one), "levels": dict(one.levels)} for one in findings.invalid
        ],
        "notes": notes.notes(findings, results),
        "report": None if report is None else str(report),
    }


def _treatment(row: Row) -> dict[str, Any]:
    return {
        "levels": dict(row.levels),
        "is_base": row.is_base,
        "estimate": _estimate(row.estimate),
        "ratio": _ratio(row.ratio),
        "goodput_bit_s": _bounded(row.goodput),
        "ceiling_bit_s": row.ceiling_bit_s,
        "ceiling_changes": row.ceiling_changes,
        "time_limit_s": row.limit_s,
        "not_observed": row.sample.not_observed,
        "trials": _tally(row.tally),
        "handovers": _moves(row.moves),
        "speed_index_bands": None if row.bands is None else dict(row.bands),
    }


def _page_metrics(found: Mapping[str, PageMetric] | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        name: {"estimate": _estimate(one.estimate), "ratio": _ratio(one.ratio)}
        for name, one in found.items()
    }


def _moves(found: HandoverCosts | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "happen": found.happens,
        "on_the_wire": dict(found.verdicts),
        "on_the_wire_over_before": found.over_before,
        "trials_over_before": found.before_any,
        "estimates": {name: _estimate(one) for name, one in found.medians.items()},
        **found.counts,
    }


def _estimate(found: Estimate | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n": found.n,
        "median": _bounded(found.median),
        "interval": _interval(found.interval),
        "mean": found.mean,
        "standard_deviation": found.deviation,
        "left_out_of_mean": found.left_out,
    }


def _ratio(found: Ratio | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n": found.n,
        "pseudo_median": _bounded(found.value),
        "of_medians": _bounded(found.of_medians),
        "interval": _interval(found.interval),
        "blocks_below_1": found.below,
        "blocks_above_1": found.above,
        "undefined": found.undefined,
        "judgement": found.judgement,
        "blocks_to_settle": found.blocks_to_settle,
        "differences": found.differences and asdict(found.differences),
    }


def _interval(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    ends = {"low": _bounded(found.low), "high": _bounded(found.high)}
    return {**ends, "coverage": found.coverage}


def _bounded(found: Bounded | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _tally(found: Tally) -> Mapping[str, Any]:
    reasons = [
        {"outcome": outcome, "reason": reason, "count": count}
        for (outcome, reason), count in found.reasons.items()
    ]
    return {"planned": found.planned, "outcomes": dict(found.outcomes), "reasons": reasons}
