"""Page loads of a campaign: which trials are loads, what each left, and which is typical.

What a load left is large (events, a trace, pictures), and a campaign may have thousands. So values
of all loads come from the tables, as those of any trial, and loads are read one by one, where a
picture needs them. Metrics of loads are compared with the same base as all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.pages.load import driver_output, speed_index
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.speed_index import Band, PictureError, ProgressPoint
from httpbed.addons.pages.page import PageLoad
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.results.comparison import Ratio, compare
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import Extension, Findings, Row
from httpbed.results.sample import Sample, samples, scenario
from httpbed.store.results import Results

Floats = NDArray[np.float64]
TrialRow = Mapping[str, Any]
"""A row of the table of trials."""

CLIENT = "client"
"""Folder of the browser among what a trial left."""
MEASURES = ("speed_index", "page_load_time", "onload_time")
"""By which a load is typical: the first of them that was observed."""
METRIC_OF_PAGES = "page_load_time"
"""The metric of page loads if the experiment names none."""
TABLED = tuple(metric for metric in METRICS.values() if metric.page_column)
"""Metrics in the table of page metrics, in its order."""


@dataclass(frozen=True)
class PageTrial:
    """The last attempt at a trial that loads a page, and its load."""

    block: int
    trial: str
    attempt: int
    levels: Mapping[str, str]
    outcome: str
    load: BrowserLoad

    @property
    def name(self) -> str:
        """As ``httpbed report --trial`` takes it."""
        return f"{self.block}/{self.trial}"


def is_page(results: Results, levels: Mapping[str, str]) -> bool:
    """Whether a treatment loads a page."""
    return isinstance(scenario(results, levels).workload, PageLoad)


def has_pages(results: Results) -> bool:
    """Whether any treatment loads a page."""
    return any(is_page(results, levels) for levels in results.experiment.treatments())


def bands(results: Results) -> dict[TreatmentKey, Counter[Band]]:
    """Count the loads of each treatment that loads a page in each band of the Speed Index."""
    found = samples(results, "speed_index")
    return {
        key: Counter(map(speed_index.band, sample.observed.values()))
        for key, sample in found.items()
        if is_page(results, sample.levels)
    }


def read(results: Results, row: TrialRow) -> PageTrial | None:
    """Read an attempt's load; None if it is absent or was altered."""
    if results.artifacts.altered(row, CLIENT):
        return None
    try:
        load = driver_output.read(folder(results, row))
    except driver_output.LoadError:
        return None
    return PageTrial(
        block=row["block"],
        trial=row["trial"],
        attempt=row["attempt"],
        levels=results.levels(row),
        outcome=row["outcome"],
        load=load,
    )


def folder(results: Results, row: TrialRow) -> Path:
    """Return the folder of an attempt's browser."""
    return results.artifact_folder(row) / CLIENT


def progress(load: BrowserLoad) -> tuple[ProgressPoint, ...]:
    """Return a load's visual progress; empty if it is unknown or unreadable."""
    try:
        return speed_index.of_load(load)
    except PictureError:
        return ()


def complete_at(steps: Sequence[ProgressPoint], times_s: Floats) -> Floats:
    """Return how complete the screen was at each of some times."""
    if not steps:
        return np.zeros_like(times_s)
    begins = np.array([step.at_s for step in steps])
    after = np.searchsorted(begins, times_s, side="right") - 1
    return np.array([step.complete for step in steps])[np.maximum(after, 0)]


def median_progress(loads: Sequence[Sequence[ProgressPoint]]) -> tuple[Floats, Floats]:
    """Return the times at which any of some loads changes, and the median completeness then."""
    times = np.unique([step.at_s for steps in loads for step in steps])
    curves = [complete_at(steps, times) for steps in loads if steps]
    return (times, np.median(curves, axis=0)) if curves else (times, np.zeros_like(times))


@dataclass(frozen=True)
class PageMetric:
    """One metric of one treatment."""

    estimate: Estimate | None
    """None without any value."""
    ratio: Ratio | None
    """Against the base of :attr:`Findings.base`; None for the base, and without a pair."""


TreatmentMetrics = Mapping[str, PageMetric]
"""All metrics of one treatment, by their names."""


def of_campaign(results: Results, findings: Findings) -> dict[TreatmentKey, TreatmentMetrics]:
    """Return all tabled metrics that were observed, by treatment; empty without page loads."""
    pages = [row for _, row in findings.rows() if bands_of(row) is not None]
    if not pages:
        return {}
    seen = set(results.observations["metric"].unique().to_pylist())
    found = {one.name: samples(results, one.name) for one in TABLED if one.name in seen}
    return {
        _key(row): {name: _metric(of_metric, findings, row) for name, of_metric in found.items()}
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
        "estimate": metric.estimate and metric.estimate.values(),
        "ratio": metric.ratio and metric.ratio.values(),
    }


def _default_metric(results: Results) -> str | None:
    return METRIC_OF_PAGES if has_pages(results) else None


EXTENSION = Extension("page", bands, _values, _default_metric)
