"""Findings as plain values for ``--json``: what the tables say, unrounded."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from httpbed.experiment.metric import METRICS
from httpbed.report import notes
from httpbed.report.answer import answer
from httpbed.report.document import ReportInput
from httpbed.results import plain_values
from httpbed.results.findings import EXTENSIONS, Findings, Row
from httpbed.store.results import Results


def summary(results: Results, findings: Findings, report: Path | None) -> dict[str, Any]:
    """Return findings ready for :func:`json.dumps`; censored figures carry ``beyond``."""
    beside = [one.values(results, findings) for one in EXTENSIONS.provided()]
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
            {key: value for part in (_treatment(row), *more) for key, value in part.items()}
            for (_, row), *more in zip(findings.rows(), *beside, strict=True)
        ],
        "trials": plain_values.of_tally(findings.tally),
        "checks": [asdict(check) for check in findings.checks],
        "invalid_attempts": [
            {**asdict(one), "levels": dict(one.levels)} for one in findings.invalid
        ],
        "notes": notes.notes(ReportInput(results, findings)),
        "report": None if report is None else str(report),
    }


def _treatment(row: Row) -> dict[str, Any]:
    return {
        "levels": dict(row.levels),
        "is_base": row.is_base,
        "estimate": plain_values.of_estimate(row.estimate),
        "ratio": plain_values.of_ratio(row.ratio),
        "goodput_bit_s": plain_values.of_bounded(row.goodput),
        "ceiling_bit_s": row.ceiling_bit_s,
        "ceiling_changes": row.ceiling_changes,
        "time_limit_s": row.limit_s,
        "not_observed": row.sample.not_observed,
        "trials": plain_values.of_tally(row.tally),
    }
