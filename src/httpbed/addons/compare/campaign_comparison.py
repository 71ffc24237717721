"""Two campaigns, treatment by treatment: what changed between versions, machines or settings.

If both campaigns have the same trial (:attr:`~httpbed.experiment.trial.Trial.id`), both transfers
met the same random losses. So a treatment is compared **paired**, by the blocks in which both ran
the same trial: signed ranks of the log ratios (Wilcoxon 1945). If no block is common, the treatment
is compared by ranks of the logarithms of all values (Mann and Whitney 1947). Completion is compared
by Fisher's exact test.

A campaign has many treatments. The p-values of all treatments are adjusted together (Benjamini and
Hochberg 1995): if nothing changed, the probability of any reported change is 5 % at most. The
intervals are not adjusted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from httpbed.results import log_ratio
from httpbed.results import sample as samples
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.estimate import CONFIDENCE, estimate
from httpbed.results.log_ratio import LogRatio
from httpbed.results.sample import Bounded, Sample, Tally
from httpbed.store.results import Results

Levels = frozenset[tuple[str, str]]
"""A treatment with the names of its factors: two campaigns may order and name them differently."""
Change = Literal["lower", "higher", "equal", "open"]
"""``equal``: the whole interval lies within 1 % of 1. ``open``: no change is certain."""
ERROR_RATE = 1 - CONFIDENCE


@dataclass(frozen=True, kw_only=True)
class ComparedTreatment:
    """One treatment in two campaigns, or by two builds in one campaign: before and after."""

    levels: Mapping[str, str]
    pairs: int
    """Number of blocks that are pairs, because both ran the same trial; 0: not paired."""
    blocks: tuple[int, int]
    """Number of values that each side contributes."""
    ratio: float
    """The second side's metric over the first one's; nan without values in both."""
    low: float
    high: float
    """Ends of the interval; 0 and inf if the blocks, or trials that timed out, leave it open."""
    coverage: float
    """Probability with which the interval covers the true ratio, at least; 0 without interval."""
    medians: tuple[Bounded | None, Bounded | None]
    tallies: tuple[Tally, Tally]


@dataclass(frozen=True, kw_only=True)
class TreatmentDifference(ComparedTreatment):
    """How one treatment differs between two campaigns."""

    change: Change
    completes: Literal["less often", "more often", "alike"]


def median(sample: Sample) -> Bounded | None:
    """Return a sample's median; None without values."""
    estimated = estimate(sample)
    return estimated.median if estimated else None


def compare(old: Results, new: Results, metric: str) -> tuple[TreatmentDifference, ...]:
    """Compare each treatment that both campaigns hold."""
    both = matched(old, new, metric)
    same = same_blocks(old, new)
    return of_samples(both, [same.get(levels_of(one), ()) for one, _ in both])


def matched(old: Results, new: Results, metric: str) -> list[tuple[Sample, Sample]]:
    """Return the samples of each treatment that both campaigns hold."""
    before = {levels_of(sample): sample for sample in samples.samples(old, metric).values()}
    return [
        (before[levels_of(sample)], sample)
        for sample in samples.samples(new, metric).values()
        if levels_of(sample) in before
    ]


def of_samples(
    both: Sequence[tuple[Sample, Sample]], same: Sequence[Sequence[int]]
) -> tuple[TreatmentDifference, ...]:
    """Compare pairs of samples; ``same`` has the blocks in which both of each ran one trial."""
    ratios = [
        log_ratio.of_campaigns(new, old, blocks)
        for (old, new), blocks in zip(both, same, strict=True)
    ]
    raw = [_p_value(ratio) if ratio else math.nan for ratio, _ in ratios]
    raw += [_p_completion(old.tally, new.tally) for old, new in both]
    certain = [bool(one) for one in significant(raw, ERROR_RATE)]
    return tuple(
        _difference(old, new, located, (certain[index], certain[len(both) + index]))
        for index, ((old, new), located) in enumerate(zip(both, ratios, strict=True))
    )


def _p_value(ratio: LogRatio) -> float:
    """Return the two-sided p-value of no change."""
    return min(1.0, 2 * min(ratio.p_above(0.0), ratio.p_below(0.0)))


def only_in(one: Results, other: Results) -> int:
    """Return how many treatments of a campaign another one lacks."""
    known = {frozenset(levels.items()) for levels in other.experiment.treatments()}
    return sum(frozenset(levels.items()) not in known for levels in one.experiment.treatments())


def levels_of(sample: Sample) -> Levels:
    """Return a sample's treatment."""
    return frozenset(sample.levels.items())


def _trials(results: Results) -> Mapping[Levels, Mapping[int, str]]:
    """Return the identifiers of each treatment's trials by block."""
    rows = samples.by_treatment(results, results.last_attempts)
    names = [*results.experiment.factors]
    return {
        frozenset(zip(names, key, strict=True)): {row["block"]: row["trial"] for row in own}
        for key, own in rows.items()
    }


def same_blocks(old: Results, new: Results) -> Mapping[Levels, Sequence[int]]:
    """Return for each treatment the blocks in which both campaigns ran the same trial."""
    before, now = _trials(old), _trials(new)
    return {
        levels: [block for block, trial in own.items() if now.get(levels, {}).get(block) == trial]
        for levels, own in before.items()
    }


def _p_completion(old: Tally, new: Tally) -> float:
    """Return the p-value of equal completion; nan if all trials of both completed."""
    table = [[tally.completed, tally.not_completed] for tally in (old, new)]
    if not any(failed for _, failed in table) or not all(map(sum, table)):
        return math.nan
    return float(stats.fisher_exact(np.array(table))[1])


def _difference(
    old: Sample, new: Sample, located: tuple[LogRatio | None, int], certain: tuple[bool, bool]
) -> TreatmentDifference:
    ratio, pairs = located
    changed, completes = certain
    shares = [sample.tally.completed / max(1, sample.tally.recorded) for sample in (old, new)]
    low, high, coverage = _interval(ratio) if ratio else (-math.inf, math.inf, 0.0)
    value = ratio.value if ratio else math.nan
    return TreatmentDifference(
        levels=new.levels,
        pairs=pairs,
        blocks=(pairs, pairs) if pairs else (old.n, new.n),
        ratio=math.exp(value),
        low=math.exp(low),
        high=math.exp(high) if high < math.inf else math.inf,
        coverage=coverage,
        change=_change(ratio, changed=changed),
        completes=("less often" if shares[1] < shares[0] else "more often")
        if completes
        else "alike",
        medians=(median(old), median(new)),
        tallies=(old.tally, new.tally),
    )


def _interval(ratio: LogRatio) -> tuple[float, float, float]:
    """Return both ends of the log ratio's interval, and its coverage."""
    side = ratio.side(ERROR_RATE)
    return ratio.low(side), ratio.high(side), max(0.0, min(CONFIDENCE, 1 - 2 * side))


def _change(ratio: LogRatio | None, *, changed: bool) -> Change:
    if ratio is None:
        return "open"
    if ratio.is_within(EQUAL_MARGIN, ERROR_RATE / 2):
        return "equal"
    if changed:
        return "lower" if ratio.value < 0 else "higher"
    return "open"


def significant(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Return which p-values are significant together; nan stands for a test without data.

    If no effect is real, the probability that any is called significant is ``rate`` at most.
    """
    values = np.asarray(p_values, dtype=float)
    counted = ~np.isnan(values)
    found = np.zeros(values.shape, dtype=np.bool_)
    if counted.any():
        found[counted] = stats.false_discovery_control(values[counted]) <= rate
    return found
