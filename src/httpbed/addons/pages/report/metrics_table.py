"""The table of page metrics: every metric of each treatment, with its ratio to the base."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.claims.claim_matrix import SHAPES, tone
from httpbed.addons.pages.page_metrics import TABLED, PageMetric, TreatmentMetrics, of_campaign
from httpbed.addons.pages.report import bands
from httpbed.experiment.metric import METRICS
from httpbed.experiment.treatment import TreatmentKey, treatment_key
from httpbed.report import network
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    bracketed,
    number_format,
    ratio_brackets,
    ratio_text,
    sentence_case,
    treatment,
)
from httpbed.results.estimate import Interval
from httpbed.results.findings import Findings, Row
from httpbed.store.results import Results

Measured = Mapping[TreatmentKey, TreatmentMetrics]


@dataclass(frozen=True)
class PageColumn:
    """A column: a metric, or the bands of the Speed Index."""

    header: str
    about: str
    """The metric's name and definition."""


@dataclass(frozen=True)
class PageCell:
    """One metric of one treatment."""

    median: str
    interval: str
    """Of the median, in brackets; empty where every load has the same value."""
    shape: str = ""
    """As :data:`~httpbed.addons.claims.claim_matrix.SHAPES`; empty without a ratio."""
    ratio: str = ""
    ratio_interval: str = ""
    tone: str = ""
    """As :attr:`~httpbed.addons.claims.claim_matrix.MatrixCell.tone`."""


@dataclass(frozen=True)
class PageRow:
    """One treatment."""

    treatment: str
    is_base: bool
    cells: tuple[PageCell, ...]
    bands: str


@dataclass(frozen=True)
class PageTable:
    """The table."""

    columns: tuple[PageColumn, ...]
    groups: tuple[tuple[str, tuple[PageRow, ...]], ...]
    """Each condition in words, with its treatments."""
    has_bands: bool

    @property
    def has_ratios(self) -> bool:
        """Whether any metric is compared with a base."""
        return any(cell.ratio for _, rows in self.groups for row in rows for cell in row.cells)

    @property
    def count(self) -> int:
        """Number of treatments."""
        return sum(len(rows) for _, rows in self.groups)


def make(results: Results, findings: Findings) -> PageTable | None:
    """Lay out the table; None where nothing of a page load was observed."""
    found = of_campaign(results, findings)
    names = [one.name for one in TABLED if any(_has_value(row, one.name) for row in found.values())]
    if not names:
        return None
    scales = {name: _scale(found, name) for name in names}
    grouped = [
        (
            network.condition(results.document, condition.levels) or "the one condition",
            tuple(
                _row(findings, row, found[treatment_key(row.levels)], scales)
                for row in condition.rows
                if treatment_key(row.levels) in found
            ),
        )
        for condition in findings.conditions
    ]
    return PageTable(
        columns=tuple(_column(name) for name in names),
        groups=tuple((name, rows) for name, rows in grouped if rows),
        has_bands=any(bands.brief(findings)),
    )


def _has_value(row: TreatmentMetrics, name: str) -> bool:
    return name in row and row[name].estimate is not None


def _column(name: str) -> PageColumn:
    metric = METRICS[name]
    return PageColumn(metric.page_column, f"{sentence_case(metric.title)}: {metric.meaning}")


def _scale(found: Measured, name: str) -> NumberFormat:
    known = (row[name].estimate for row in found.values())
    return number_format(name, (one.median.value for one in known if one))


def _row(
    findings: Findings,
    row: Row,
    own: TreatmentMetrics,
    scales: Mapping[str, NumberFormat],
) -> PageRow:
    return PageRow(
        treatment=treatment(row.levels, findings.others),
        is_base=row.is_base,
        cells=tuple(_cell(name, own[name], scale) for name, scale in scales.items()),
        bands=bands.cell(row),
    )


def _cell(name: str, found: PageMetric, scale: NumberFormat) -> PageCell:
    if found.estimate is None:
        return PageCell(DASH, "")
    median = scale.bounded(found.estimate.median)
    interval = bracketed(scale, _wide(found.estimate.interval))
    if found.ratio is None:
        return PageCell(median, interval)
    more: dict[str, Any] = {
        "shape": SHAPES[found.ratio.judgement],
        "ratio": ratio_text(found.ratio.value),
        "ratio_interval": ratio_brackets(_wide(found.ratio.interval)),
        "tone": tone(name, found.ratio),
    }
    return PageCell(median, interval, **more)


def _wide(interval: Interval | None) -> Interval | None:
    """Return an interval that says more than its value: counts often do not vary."""
    if interval is None or math.isclose(interval.low.value, interval.high.value):
        return None
    return interval
