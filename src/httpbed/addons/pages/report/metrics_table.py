"""The table of page metrics: every metric of each treatment, with its ratio to the base."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from httpbed.addons.pages.load.speed_index import MODERATE_FROM_S, SLOW_ABOVE_S, Band
from httpbed.addons.pages.loads import (
    TABLED,
    PageMetric,
    TreatmentMetrics,
    bands_of,
    of_campaign,
)
from httpbed.experiment.factorial import treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.report import treatments
from httpbed.report.document import Cell, Column, ColumnMaker, Table
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    base_name,
    bracketed,
    number_format,
    ratio_brackets,
    ratio_text,
    sentence_case,
)
from httpbed.report.treatments import SHAPES, tone
from httpbed.results.estimate import Interval
from httpbed.results.findings import Condition, Findings, Row
from httpbed.store.results import Results

BANDS: tuple[Band, ...] = ("fast", "moderate", "slow")
MEANING_OF_BANDS = (
    f"Loads are fast with a Speed Index below {MODERATE_FROM_S} s, moderate up to {SLOW_ABOVE_S} s,"
    " and slow above (Liu et al. 2024, section 4.4)."
)


def bands(findings: Findings) -> Iterator[Column]:
    """Yield the column of bands, where loads have a Speed Index: ``4 fast, 1 slow``."""
    rows = [row for _, row in findings.rows()]
    if any(bands_of(row) for row in rows):
        yield Column.of("loads by band", map(_bands, rows), wraps=True)


def _bands(row: Row) -> str:
    counts = bands_of(row) or Counter[Band]()
    return ", ".join(f"{counts[band]} {band}" for band in BANDS if counts[band]) or DASH


def make(results: Results, findings: Findings) -> Table | None:
    """Lay out the table; None where nothing of a page load was observed."""
    found = of_campaign(results, findings)
    names = [
        metric.name
        for metric in TABLED
        if any(_has_value(row, metric.name) for row in found.values())
    ]
    if not names:
        return None
    pages = _of_pages(findings)
    own = [found[treatment_key(row.levels)] for _, row in pages.rows()]
    columns = [_column(name, own) for name in names]
    base = base_name(findings)
    compared = (
        f" Beside or below a median: its paired ratio to {base} with the ratio's interval. Beside"
        f" or below a median of {base}: the median's interval."
        if any(cell.below for column in columns for cell in column.cells)
        else ""
    )
    return Table(
        "Table of page metrics",
        f"Medians of each configuration.{compared}",
        (*treatments.name_columns(pages), *columns, *bands(pages)),
        treatments.row_names(pages, results.document),
        brief=True,
        style="tight metrics",
    )


def _of_pages(findings: Findings) -> Findings:
    """Return the findings of the treatments that load a page."""
    conditions = (
        Condition(
            condition.levels, tuple(row for row in condition.rows if bands_of(row) is not None)
        )
        for condition in findings.conditions
    )
    return replace(
        findings, conditions=tuple(condition for condition in conditions if condition.rows)
    )


def _has_value(row: TreatmentMetrics, name: str) -> bool:
    return name in row and row[name].estimate is not None


def _column(name: str, metrics: Sequence[TreatmentMetrics]) -> Column:
    metric = METRICS[name]
    known = (row[name].estimate for row in metrics)
    scale = number_format(name, (estimate.median.value for estimate in known if estimate))
    return Column(
        metric.page_column,
        tuple(_cell(name, row[name], scale) for row in metrics),
        right=True,
        about=f"{sentence_case(metric.title)}: {metric.meaning}",
    )


def _cell(name: str, metric: PageMetric, scale: NumberFormat) -> Cell:
    if metric.estimate is None:
        return Cell(DASH)
    median = scale.bounded(metric.estimate.median)
    interval = bracketed(scale, _wide(metric.estimate.interval))
    if metric.ratio is None:
        return Cell(median, interval)
    ratio = Cell(
        ratio_text(metric.ratio.value),
        ratio_brackets(_wide(metric.ratio.interval)),
        tone(name, metric.ratio),
        SHAPES[metric.ratio.judgement],
    )
    return Cell(median, interval, below=ratio)


def _wide(interval: Interval | None) -> Interval | None:
    """Return an interval that says more than its value: counts often do not vary."""
    if interval is None or math.isclose(interval.low.value, interval.high.value):
        return None
    return interval


COLUMNS = ColumnMaker("pages", bands)
