"""The values of declared figures: what each cell shows, and the values of a distribution."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from httpbed.addons.figures.stated_figure import (
    FigureCell,
    FigurePlace,
    Levels,
    PlacedFigure,
    StatedFigure,
)
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results.comparison import Ratio, compare
from httpbed.results.estimate import Estimate, Interval, estimate
from httpbed.results.sample import Bounded, Floats, Sample, by_treatment, item_values, samples
from httpbed.store.results import Results


@dataclass(frozen=True)
class FigureValue:
    """What a figure shows of one cell."""

    cell: FigureCell
    value: Bounded
    low: float | None
    """Lower end of the error bar; None without one."""
    high: float | None
    n: int
    timed_out: int
    """Trials that a mean lacks because they timed out."""
    spoilt: int = 0
    """Trials that a mean lacks because they have no valid attempt."""
    trials: tuple[float, ...] = ()
    """The values of the trials; empty for a ratio."""
    ratio: Ratio | None = None
    known: tuple[float, ...] = ()
    """Those of the value and the bar's ends that are no bounds."""


@dataclass(frozen=True)
class Distribution:
    """The values of one curve."""

    values: tuple[float, ...]
    """Ascending."""
    beyond: int = 0
    """Number of further values that are larger than any that could be measured."""
    below: int = 0
    """Number of further values that are smaller."""

    @property
    def n(self) -> int:
        """Number of values."""
        return len(self.values) + self.beyond + self.below


class FigureSamples:
    """Reads the samples of a campaign, each metric once."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._read: dict[str, Mapping[TreatmentKey, Sample]] = {}
        self._items: dict[str, Mapping[TreatmentKey, Mapping[int, Floats]]] = {}
        self._ratios: dict[tuple[str, TreatmentKey, TreatmentKey], Ratio | None] = {}

    @cached_property
    def _ran(self) -> set[TreatmentKey]:
        valid = [row for row in self._results.last_attempts if row["outcome"] != "invalid"]
        return set(by_treatment(self._results, valid))

    def ran(self, cell: FigureCell) -> bool:
        """Whether a cell, and the base of its ratio, has a valid trial."""
        needed = [cell.treatment, *([cell.base] if cell.base is not None else [])]
        return all(treatment_key(one) in self._ran for one in needed)

    def sample(self, metric: str, treatment: Mapping[str, str]) -> Sample | None:
        """Return the sample of one treatment; None if the campaign's scale leaves it out."""
        if metric not in self._read:
            self._read[metric] = samples(self._results, metric)
        return self._read[metric].get(treatment_key(treatment))

    def ratio(self, metric: str, of: Mapping[str, str], to: Mapping[str, str]) -> Ratio | None:
        """Return the ratio of two treatments; figures that share it compute its interval once."""
        key = (metric, treatment_key(of), treatment_key(to))
        if key not in self._ratios:
            sample, base = self.sample(metric, of), self.sample(metric, to)
            self._ratios[key] = compare(sample, base) if sample and base else None
        return self._ratios[key]

    def items(self, metric: str, treatment: Mapping[str, str]) -> list[float]:
        """Return the values of all items of one treatment's trials."""
        if metric not in self._items:
            self._items[metric] = item_values(self._results, metric)
        by_block = self._items[metric].get(treatment_key(treatment), {})
        return [float(value) for own in by_block.values() for value in own]


def cell_values(placed: PlacedFigure, source: FigureSamples) -> list[FigureValue]:
    """Return what a figure of bars, lines or a grid shows; cells without any value are left out."""
    found = (_value(placed.stated, cell, source) for cell in placed.cells)
    return [value for value in found if value is not None]


def distributions(
    placed: PlacedFigure, source: FigureSamples
) -> dict[tuple[Levels, Levels], Distribution]:
    """Return the distributions of a CDF by panel and series; empty ones are left out."""
    parts: dict[tuple[Levels, Levels], list[Bounded]] = {}
    for cell in placed.cells:
        parts.setdefault((cell.panel, cell.series), []).extend(
            _of_cell(placed.stated, cell, source)
        )
    return {
        at: Distribution(
            tuple(sorted(one.value for one in values if not one.beyond)),
            beyond=sum(one.beyond == ">" for one in values),
            below=sum(one.beyond == "<" for one in values),
        )
        for at, values in parts.items()
        if values
    }


def missing(
    placed: PlacedFigure, values: Iterable[FigureValue], source: FigureSamples
) -> dict[FigurePlace, bool]:
    """Return the places of cells without a value, and whether their trials ran."""
    have = {value.cell.place for value in values}
    return {cell.place: source.ran(cell) for cell in placed.cells if cell.place not in have}


def not_run(placed: PlacedFigure, source: FigureSamples) -> dict[tuple[Levels, Levels], int]:
    """Count the cells that did not run by panel and series, where there are any."""
    return Counter((cell.panel, cell.series) for cell in placed.cells if not source.ran(cell))


def _value(stated: StatedFigure, cell: FigureCell, source: FigureSamples) -> FigureValue | None:
    metric = str(stated.metric)
    if cell.base is not None:
        ratio = source.ratio(metric, cell.treatment, cell.base)
        return _of_ratio(stated, cell, ratio) if ratio else None
    sample = source.sample(metric, cell.treatment)
    found = estimate(sample) if sample else None
    return _of_estimate(stated, cell, sample, found) if sample and found else None


def _of_ratio(stated: StatedFigure, cell: FigureCell, ratio: Ratio) -> FigureValue:
    if stated.statistic == "ratio of medians":
        ratio = replace(ratio, value=ratio.of_medians, interval=None)
    known, ends = _known(ratio.value, ratio.interval), _ends(ratio.interval)
    return FigureValue(cell, ratio.value, *ends, ratio.n, timed_out=0, ratio=ratio, known=known)


def _of_estimate(
    stated: StatedFigure, cell: FigureCell, sample: Sample, estimate: Estimate
) -> FigureValue:
    trials, late = tuple(sample.observed.values()), len(sample.censored)
    spoilt = len(sample.unknown)
    if stated.shown_statistic == "median":
        known = _known(estimate.median, estimate.interval)
        ends = _ends(estimate.interval)
        return FigureValue(
            cell, estimate.median, *ends, estimate.n, timed_out=0, trials=trials, known=known
        )
    if estimate.mean is None:
        bound = Bounded(max(sample.censored.values()), sample.side)
        return FigureValue(cell, bound, None, None, estimate.n, late, spoilt)
    spread = estimate.deviation
    low, high = (None, None) if spread is None else (estimate.mean - spread, estimate.mean + spread)
    known = tuple(one for one in (estimate.mean, low, high) if one is not None)
    return FigureValue(
        cell, Bounded(estimate.mean), low, high, estimate.n, late, spoilt, trials, known=known
    )


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low.value, interval.high.value)


def _known(value: Bounded, interval: Interval | None) -> tuple[float, ...]:
    ends = () if interval is None else (interval.low, interval.high)
    return tuple(one.value for one in (value, *ends) if not one.beyond)


def _of_cell(stated: StatedFigure, cell: FigureCell, source: FigureSamples) -> list[Bounded]:
    """Return the values that a cell contributes to a distribution."""
    if stated.over:
        found = _value(stated, cell, source)
        return [] if found is None else [found.value]
    if stated.shows_items:
        return [Bounded(value) for value in source.items(stated.metric, cell.treatment)]
    sample = source.sample(stated.metric, cell.treatment)
    if sample is None:
        return []
    late = [Bounded(bound, sample.side) for bound in sample.censored.values()]
    return [*(Bounded(value) for value in sample.observed.values()), *late]
