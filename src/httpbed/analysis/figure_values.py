"""The values of declared figures: what each cell shows, and the values of a distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from httpbed.analysis.comparison import Ratio, compare
from httpbed.analysis.estimate import Interval, estimate
from httpbed.analysis.item_samples import item_values, samples_of_items
from httpbed.analysis.sample import Bounded, Floats, Sample, samples
from httpbed.experiment.figures.placed import FigureCell, Levels, PlacedFigure
from httpbed.experiment.figures.stated import StatedFigure
from httpbed.experiment.metric import METRICS, Side
from httpbed.experiment.treatment import TreatmentKey, treatment_key
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
    trials: tuple[float, ...] = ()
    """The values of the trials, or the ratios of the blocks."""
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
        self._read: dict[tuple[str, str | None], Mapping[TreatmentKey, Sample]] = {}
        self._items: dict[str, Mapping[TreatmentKey, Mapping[int, Floats]]] = {}
        self._ratios: dict[tuple[str, str | None, TreatmentKey, TreatmentKey], Ratio | None] = {}

    def sample(self, stated: StatedFigure, treatment: Mapping[str, str]) -> Sample:
        """Return the sample of one treatment of the campaign."""
        key = (str(stated.metric), stated.items)
        if key not in self._read:
            self._read[key] = (
                samples_of_items(self._results, key[0], stated.items)
                if stated.items
                else samples(self._results, key[0])
            )
        return self._read[key][treatment_key(treatment)]

    def ratio(
        self, stated: StatedFigure, of: Mapping[str, str], to: Mapping[str, str]
    ) -> Ratio | None:
        """Return the ratio of two treatments; figures that share it compute its interval once."""
        key = (str(stated.metric), stated.items, treatment_key(of), treatment_key(to))
        if key not in self._ratios:
            self._ratios[key] = compare(self.sample(stated, of), self.sample(stated, to))
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
    return [one for one in found if one is not None]


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


def _value(stated: StatedFigure, cell: FigureCell, source: FigureSamples) -> FigureValue | None:
    sample = source.sample(stated, cell.treatment)
    if cell.base is not None:
        ratio = source.ratio(stated, cell.treatment, cell.base)
        if ratio is None:
            return None
        if stated.statistic == "ratio of medians":
            ratio = replace(ratio, value=ratio.of_medians, interval=None)
        ends = _ends(ratio.interval)
        pairs = _paired(sample, source.sample(stated, cell.base))
        blocks = tuple(one.value for one in pairs if not one.beyond)
        known = _known(ratio.value, ratio.interval)
        return FigureValue(cell, ratio.value, *ends, ratio.n, 0, blocks, ratio, known)
    found = estimate(sample)
    if found is None:
        return None
    trials, late = tuple(sample.observed.values()), len(sample.censored)
    if stated.shown_statistic == "median":
        known = _known(found.median, found.interval)
        ends = _ends(found.interval)
        return FigureValue(cell, found.median, *ends, found.n, 0, trials, known=known)
    if found.mean is None:
        bound = Bounded(max(sample.censored.values()), sample.side)
        return FigureValue(cell, bound, None, None, found.n, late)
    spread = found.deviation
    low, high = (None, None) if spread is None else (found.mean - spread, found.mean + spread)
    known = tuple(one for one in (found.mean, low, high) if one is not None)
    return FigureValue(cell, Bounded(found.mean), low, high, found.n, late, trials, known=known)


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low.value, interval.high.value)


def _known(value: Bounded, interval: Interval | None) -> tuple[float, ...]:
    ends = () if interval is None else (interval.low, interval.high)
    return tuple(one.value for one in (value, *ends) if not one.beyond)


def _of_cell(stated: StatedFigure, cell: FigureCell, source: FigureSamples) -> list[Bounded]:
    """Return the values that a cell contributes to a distribution."""
    if METRICS[stated.metric].per_item and not stated.items:
        return [Bounded(value) for value in source.items(stated.metric, cell.treatment)]
    if stated.over:
        found = _value(stated, cell, source)
        return [] if found is None else [found.value]
    sample = source.sample(stated, cell.treatment)
    if cell.base is not None:
        return _paired(sample, source.sample(stated, cell.base))
    late = [Bounded(bound, sample.side) for bound in sample.censored.values()]
    return [*(Bounded(value) for value in sample.observed.values()), *late]


def _paired(sample: Sample, base: Sample) -> list[Bounded]:
    """Return the ratio of each block in which at most one of the two trials timed out."""
    ratios = []
    for block in sorted(sample.at_bound().keys() & base.at_bound().keys()):
        of, to = sample.at_bound()[block], base.at_bound()[block]
        late, base_late = block in sample.censored, block in base.censored
        if to > 0 and not (late and base_late):
            opposite: Side = "<" if base.side == ">" else ">"
            side = sample.side if late else opposite if base_late else ""
            ratios.append(Bounded(of / to, side))
    return ratios
