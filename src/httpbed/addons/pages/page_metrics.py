"""The metrics of page loads that reports show side by side, each compared with the same base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from httpbed.experiment.metric import METRICS
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.results.comparison import Ratio, compare
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import Findings, Row
from httpbed.results.sample import Sample, samples
from httpbed.store.results import Results

TABLED = tuple(metric for metric in METRICS.values() if metric.page_column)
"""Metrics in the table of page metrics, in its order."""


@dataclass(frozen=True)
class PageMetric:
    """One metric of one treatment."""

    estimate: Estimate | None
    """None without any value."""
    ratio: Ratio | None
    """Against the base of :attr:`Findings.base`; None for the base, and without a pair."""


TreatmentMetrics = Mapping[str, PageMetric]
"""By metric: all of one treatment."""


def of_campaign(results: Results, findings: Findings) -> dict[TreatmentKey, TreatmentMetrics]:
    """Return all tabled metrics that were observed, by treatment; empty without page loads."""
    pages = [row for _, row in findings.rows() if row.bands is not None]
    if not pages:
        return {}
    seen = set(results.observations["metric"].unique().to_pylist())
    found = {one.name: samples(results, one.name) for one in TABLED if one.name in seen}
    return {
        _key(row): {name: _metric(own, findings, row) for name, own in found.items()}
        for row in pages
    }


def _metric(found: Mapping[TreatmentKey, Sample], findings: Findings, row: Row) -> PageMetric:
    sample = found[_key(row)]
    base = None if row.is_base else found.get(treatment_key({**row.levels, **findings.base}))
    return PageMetric(estimate(sample), compare(sample, base) if base else None)


def _key(row: Row) -> TreatmentKey:
    return treatment_key(row.levels)
