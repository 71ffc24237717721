"""The metrics of page loads that reports show side by side, each compared with the same base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.pages import loads
from httpbed.addons.pages.load.speed_index import Band
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.results import plain_values
from httpbed.results.comparison import Ratio, compare
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import Extension, Findings, Row
from httpbed.results.sample import Sample, samples
from httpbed.store.results import Results

METRIC_OF_PAGES = "page_load_time"
"""The metric of page loads if the experiment names none."""
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
    pages = [row for _, row in findings.rows() if bands_of(row) is not None]
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


def bands_of(row: Row) -> Counter[Band] | None:
    """Count a treatment's loads in each band of the Speed Index; None for a download."""
    bands: Counter[Band] | None = row.extensions.get(EXTENSION.name)
    return bands


def _values(results: Results, findings: Findings) -> Iterator[Mapping[str, Any]]:
    metrics = of_campaign(results, findings)
    for _, row in findings.rows():
        bands, own = bands_of(row), metrics.get(_key(row))
        yield {
            "speed_index_bands": None if bands is None else dict(bands),
            "page_metrics": None if own is None else {n: _plain(m) for n, m in own.items()},
        }


def _plain(metric: PageMetric) -> Mapping[str, Any]:
    return {
        "estimate": plain_values.of_estimate(metric.estimate),
        "ratio": plain_values.of_ratio(metric.ratio),
    }


def _default_metric(results: Results) -> str | None:
    return METRIC_OF_PAGES if loads.has_pages(results) else None


EXTENSION = Extension("page", loads.bands, _values, _default_metric)
