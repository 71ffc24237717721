"""The values of a quantity by block, each as a pair of bounds.

A trial that timed out has no time, yet its time lies above the limit: its bounds are the limit and
infinity. Without any valid attempt they are zero and infinity. Ratios and differences of bounds are
bounds. All statistics over blocks grow with each value, so the lower bounds give the lower end of
an interval, and the upper bounds the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from httpbed.addons.claims.cell_builder import (
    ContrastValue,
    FlipValue,
    KneeValue,
    MetricValue,
    Quantity,
    TrendValue,
    leaves,
)
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import DEFAULT_METRIC, ItemStatistic
from httpbed.results.location import NoIntervalError
from httpbed.results.sample import Sample, named_items, samples, samples_of_items
from httpbed.store.results import Results

Bounds = tuple[float, float]
"""A lower and an upper bound; equal where the value is known."""
BlockBounds = Mapping[int, Bounds]
UNKNOWN = (-math.inf, math.inf)
MIN_PSEUDO_VALUES = 3


class AbsentError(NoIntervalError):
    """The campaign has no such treatment."""


class CampaignSamples:
    """Reads the samples of one campaign, and of campaigns of other experiments by name.

    Blocks of two campaigns are no pairs in time. Block 1 of one is compared with block 1 of the
    other, and so on: the comparisons are independent, but what differs between the campaigns stays
    in them.
    """

    def __init__(self, results: Results, others: Mapping[str, Results] | None = None) -> None:
        self._results = results
        self._others = {name: CampaignSamples(one) for name, one in (others or {}).items()}
        self._known = {treatment_key(treatment) for treatment in results.experiment.treatments()}
        self._items: dict[str, Mapping[TreatmentKey, Mapping[int, Mapping[str, float]]]] = {}
        self._read: dict[tuple[str, ItemStatistic | None], Mapping[TreatmentKey, Sample]] = {}

    def sample(self, leaf: MetricValue, treatment: TreatmentKey) -> Sample:
        """Return one treatment's sample.

        Raises:
            AbsentError: The campaign has no such treatment.
        """
        if leaf.experiment:
            other = self._others[leaf.experiment]
            return other.sample(replace(leaf, experiment=""), treatment)
        metric = leaf.metric or DEFAULT_METRIC  # outcomes are counted with any
        if (metric, leaf.items) not in self._read:
            self._read[metric, leaf.items] = self._samples(metric, leaf.items)
        sample = self._read[metric, leaf.items].get(treatment)
        if sample is None:
            raise self._absent(treatment)
        return sample

    def items(
        self, metric: str, treatment: TreatmentKey, experiment: str = ""
    ) -> Mapping[int, Mapping[str, float]]:
        """Return one treatment's values of single items, by block and name.

        Raises:
            AbsentError: The campaign has no such treatment.
        """
        if experiment:
            return self._others[experiment].items(metric, treatment)
        if metric not in self._items:
            self._items[metric] = named_items(self._results, metric)
        if treatment not in self._known:
            raise self._absent(treatment)
        return self._items[metric].get(treatment, {})

    def _absent(self, treatment: TreatmentKey) -> AbsentError:
        experiment = self._results.experiment
        levels = ", ".join(map(" ".join, zip(experiment.factors, treatment, strict=True)))
        return AbsentError(f"the campaign of {experiment.name} has no trials of {levels}")

    def _samples(self, metric: str, items: ItemStatistic | None) -> Mapping[TreatmentKey, Sample]:
        if items is None:
            return samples(self._results, metric)
        return samples_of_items(self._results, metric, items)


def of_quantity(quantity: Quantity, source: CampaignSamples) -> BlockBounds:
    """Return the bounds of a quantity in each block that has all of its values."""
    match quantity:
        case MetricValue():
            return _average([_of_sample(sample) for sample in _samples(quantity, source)])
        case ContrastValue(of=of, to=to):
            first, second = of_quantity(of, source), of_quantity(to, source)
            shared = sorted(first.keys() & second.keys())
            return {block: _contrast(quantity, first[block], second[block]) for block in shared}
        case TrendValue(points=points, against=against):
            values = [of_quantity(point, source) for point in points]
            others = [of_quantity(point, source) for point in against or ()]
            shared = sorted(set.intersection(*map(set, [*values, *others])))
            return {
                block: _correlation([v[block] for v in values], [v[block] for v in others])
                for block in shared
            }
        case KneeValue(points=points):
            values = [of_quantity(point, source) for point in points]
            shared = sorted(set.intersection(*map(set, values)))
            return {block: _knee(quantity, [one[block] for one in values]) for block in shared}
        case FlipValue():
            return _flip(quantity, source)


def was_run(quantity: Quantity, source: CampaignSamples) -> bool:
    """Return whether every treatment of a quantity has a trial with an outcome."""
    try:
        used = [sample for leaf in leaves(quantity) for sample in _samples(leaf, source)]
    except AbsentError:
        return False
    return all(sample.tally.recorded for sample in used)


def of_medians(quantity: Quantity, source: CampaignSamples) -> Bounds | None:
    """Return the bounds of a quantity of the medians of all blocks; None of a shape."""
    match quantity:
        case MetricValue():
            parts = [_median(_of_sample(sample)) for sample in _samples(quantity, source)]
            known = [{0: part} for part in parts if part]
            return _average(known)[0] if len(known) == len(parts) else None
        case ContrastValue(of=of, to=to):
            first, second = of_medians(of, source), of_medians(to, source)
            return _contrast(quantity, first, second) if first and second else None
    return None


def _median(bounds: BlockBounds) -> Bounds | None:
    if not bounds:
        return None
    low, high = (float(np.median([bound[end] for bound in bounds.values()])) for end in (0, 1))
    return _known(low, high)


def apart(quantity: Quantity, source: CampaignSamples, *, logarithmic: bool) -> float | None:
    """Return the variance of a quantity whose values come from blocks of their own.

    None of a shape, and of contrasts that are ratios and differences at once.
    """
    match quantity:
        case MetricValue():
            values = [low for low, high in of_quantity(quantity, source).values() if low == high]
            if len(values) < MIN_PSEUDO_VALUES or (logarithmic and min(values) <= 0):
                return None
            return float(np.var(np.log(values) if logarithmic else values, ddof=1))
        case ContrastValue(by=by, of=of, to=to) if logarithmic == (by == "ratio"):
            parts = [apart(one, source, logarithmic=logarithmic) for one in (of, to)]
            return None if None in parts else sum(filter(None, parts))
    return None


def pseudo_values(quantity: Quantity, source: CampaignSamples) -> dict[int, float]:
    """Return the jackknife's pseudo-values of the logarithm of the coefficient of variation.

    Their mean is the logarithm without most of its bias, their spread that of the estimate
    (Miller 1968, "Jackknifing variances"). A ratio is the difference of logarithms.

    Raises:
        NoIntervalError: A trial timed out, or the values do not vary.
    """
    match quantity:
        case MetricValue():
            parts = [_jackknife(sample) for sample in _samples(quantity, source)]
            shared = set.intersection(*map(set, parts))
            return {block: float(np.mean([part[block] for part in parts])) for block in shared}
        case ContrastValue(of=of, to=to):
            first, second = pseudo_values(of, source), pseudo_values(to, source)
            shared = first.keys() & second.keys()
            return {block: first[block] - second[block] for block in sorted(shared)}
        case TrendValue() | KneeValue() | FlipValue():
            raise NoIntervalError("a trend, knee or flip has no variation")


def _samples(leaf: MetricValue, source: CampaignSamples) -> list[Sample]:
    return [source.sample(leaf, treatment) for treatment in leaf.treatments]


def _of_sample(sample: Sample) -> BlockBounds:
    bounds = {block: (value, value) for block, value in sample.observed.items()}
    for block, bound in sample.censored.items():
        bounds[block] = (0.0, bound) if sample.side == "<" else (bound, math.inf)
    return bounds | dict.fromkeys(sample.unknown, (0.0, math.inf))


def _average(parts: Sequence[BlockBounds]) -> BlockBounds:
    if len(parts) == 1:
        return parts[0]
    shared = sorted(set.intersection(*map(set, parts)))
    ends = {block: [part[block] for part in parts] for block in shared}
    return {
        block: (
            math.fsum(low for low, _ in bounds) / len(bounds),
            math.fsum(high for _, high in bounds) / len(bounds),
        )
        for block, bounds in ends.items()
    }


def _contrast(contrast: ContrastValue, of: Bounds, to: Bounds) -> Bounds:
    if contrast.by == "difference":
        return _known(of[0] - to[1], of[1] - to[0])
    low, high = _ratio(of, to)
    if contrast.by == "ratio":
        return low, high
    return (1 - high, 1 - low) if contrast.lower_is_better else (low - 1, high - 1)


def _ratio(of: Bounds, to: Bounds) -> Bounds:
    if of[0] < 0 or to[0] < 0 or to == (0.0, 0.0):
        return UNKNOWN
    low = of[0] / to[1] if to[1] > 0 else 0.0  # a value over infinity is 0
    high = of[1] / to[0] if to[0] > 0 else math.inf
    return _known(low, high)


def _known(low: float, high: float) -> Bounds:
    return UNKNOWN if math.isnan(low) or math.isnan(high) else (low, high)


def _correlation(points: Sequence[Bounds], against: Sequence[Bounds]) -> Bounds:
    if any(low != high for low, high in [*points, *against]):
        return -1.0, 1.0
    order = [low for low, _ in against] or list(range(len(points)))
    ranks, others = stats.rankdata([low for low, _ in points]), stats.rankdata(order)
    if np.ptp(ranks) == 0 or np.ptp(others) == 0:
        return 0.0, 0.0
    found = float(np.corrcoef(ranks, others)[0, 1])
    return found, found


def _knee(knee: KneeValue, points: Sequence[Bounds]) -> Bounds:
    """Return the slope up to the knee less the slope from it on, both of logarithms."""
    if any(low != high or low <= 0 for low, high in points):
        return UNKNOWN
    at = np.log(knee.places)
    values = np.log([low for low, _ in points])
    below, above = (at <= math.log(knee.at), at >= math.log(knee.at))
    slopes = [float(np.polyfit(at[part], values[part], 1)[0]) for part in (below, above)]
    return slopes[0] - slopes[1], slopes[0] - slopes[1]


def _flip(flip: FlipValue, source: CampaignSamples) -> BlockBounds:
    """Return the share of items in each block that both trials have in both metrics."""
    ordered = {
        (metric, key): source.items(metric, key, flip.experiment)
        for metric in (flip.lower, flip.higher)
        for key in (flip.of, flip.to)
    }
    bounds: dict[int, Bounds] = {}
    for block in sorted(set.intersection(*map(set, ordered.values()))):
        values = {at: by_block[block] for at, by_block in ordered.items()}
        flipped = [
            values[flip.lower, flip.of][name] < values[flip.lower, flip.to][name]
            and values[flip.higher, flip.of][name] > values[flip.higher, flip.to][name]
            for name in set.intersection(*map(set, values.values()))
        ]
        if flipped:
            bounds[block] = (sum(flipped) / len(flipped),) * 2
    return bounds


def _jackknife(sample: Sample) -> dict[int, float]:
    if sample.censored:
        raise NoIntervalError("trials timed out, so their variation is unknown")
    if sample.unknown:
        raise NoIntervalError("trials have no valid attempt, so their variation is unknown")
    blocks = sorted(sample.observed)
    values = np.array([sample.observed[block] for block in blocks])
    if values.size < MIN_PSEUDO_VALUES:
        raise NoIntervalError(f"variation needs at least {MIN_PSEUDO_VALUES} blocks")
    rest = [_log_variation(np.delete(values, index)) for index in range(values.size)]
    whole = values.size * _log_variation(values)
    return {block: whole - (values.size - 1) * one for block, one in zip(blocks, rest, strict=True)}


def _log_variation(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    deviation, mean = float(values.std(ddof=1)), float(values.mean())
    if deviation <= abs(mean) * 1e-12:
        raise NoIntervalError("all blocks have the same value, so there is no variation")
    return math.log(deviation / abs(mean))
