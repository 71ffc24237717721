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
from scipy import stats

from httpbed.results import false_discovery, log_ratio
from httpbed.results import sample as samples
from httpbed.results.comparison import EQUAL_MARGIN
from httpbed.results.estimate import CONFIDENCE
from httpbed.results.log_ratio import LogRatio
from httpbed.results.sample import Sample, Tally
from httpbed.store.results import Results

Levels = frozenset[tuple[str, str]]
"""A treatment with the names of its factors: two campaigns may order and name them differently."""
Change = Literal["lower", "higher", "equal", "open"]
"""``equal``: the whole interval lies within 1 % of 1. ``open``: no change is certain."""
ERROR_RATE = 1 - CONFIDENCE


@dataclass(frozen=True)
class TreatmentDifference:
    """One treatment in two campaigns."""

    levels: Mapping[str, str]
    pairs: int
    """Number of blocks in which both ran the same trial and have a ratio; 0: not paired."""
    blocks: tuple[int, int]
    """Number of values that each campaign contributes."""
    ratio: float
    """The second campaign's metric over the first one's; nan without values in both."""
    low: float
    high: float
    """Ends of the interval; 0 and inf if the blocks, or trials that timed out, leave it open."""
    coverage: float
    """Probability with which the interval covers the true ratio, at least."""
    change: Change
    completes: Literal["less often", "more often", "alike"]
    tallies: tuple[Tally, Tally]


@dataclass(frozen=True)
class _Evidence:
    """What the values of both campaigns say about the ratio."""

    ratio: LogRatio
    pairs: int
    blocks: tuple[int, int]

    def p_value(self) -> float:
        """Return the two-sided p-value of no change."""
        return min(1.0, 2 * min(self.ratio.p_above(0.0), self.ratio.p_below(0.0)))

    def interval(self) -> tuple[float, float, float]:
        """Return both ends of the log ratio's interval, and its coverage."""
        side = max(ERROR_RATE / 2, self.ratio.least_p)
        coverage = max(0.0, min(CONFIDENCE, 1 - 2 * side))
        return self.ratio.low(side), self.ratio.high(side), coverage


def compare(old: Results, new: Results, metric: str) -> tuple[TreatmentDifference, ...]:
    """Compare each treatment that both campaigns hold."""
    before = {_levels(one): one for one in samples.samples(old, metric).values()}
    both = [
        (before[_levels(one)], one)
        for one in samples.samples(new, metric).values()
        if _levels(one) in before
    ]
    same = same_blocks(old, new)
    return of_samples(both, [same.get(_levels(one), ()) for one, _ in both])


def of_samples(
    both: Sequence[tuple[Sample, Sample]], same: Sequence[Sequence[int]]
) -> tuple[TreatmentDifference, ...]:
    """Compare pairs of samples, of which each has these blocks with the same trials."""
    found = [_evidence(*pair, blocks) for pair, blocks in zip(both, same, strict=True)]
    raw = [one.p_value() if one else math.nan for one in found]
    raw += [_p_completion(one.tally, other.tally) for one, other in both]
    certain = [bool(one) for one in false_discovery.significant(raw, ERROR_RATE)]
    return tuple(
        _difference(one, other, evidence, (certain[index], certain[len(both) + index]))
        for index, ((one, other), evidence) in enumerate(zip(both, found, strict=True))
    )


def only_in(one: Results, other: Results) -> int:
    """Return how many treatments of a campaign another one lacks."""
    known = {frozenset(levels.items()) for levels in other.experiment.treatments()}
    return sum(frozenset(levels.items()) not in known for levels in one.experiment.treatments())


def _levels(sample: Sample) -> Levels:
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


def _evidence(old: Sample, new: Sample, same: Sequence[int]) -> _Evidence | None:
    """Return what the values say about the ratio; None without values, or with a zero."""
    if any(value <= 0 for one in (old, new) for value in one.at_bound().values()):
        return None
    return _paired(old, new, same) if same else _unpaired(old, new)


def _paired(old: Sample, new: Sample, same: Sequence[int]) -> _Evidence | None:
    known = old.at_bound().keys() & new.at_bound().keys()
    both_open = old.censored.keys() & new.censored.keys()
    blocks = [block for block in same if block in known and block not in both_open]
    if not blocks:
        return None
    ratio = log_ratio.of_pairs(new, old, blocks)
    return _Evidence(ratio, len(blocks), (len(blocks), len(blocks)))


def _unpaired(old: Sample, new: Sample) -> _Evidence | None:
    if not old.n or not new.n:
        return None
    return _Evidence(log_ratio.of_samples(new, old), 0, (old.n, new.n))


def _p_completion(old: Tally, new: Tally) -> float:
    """Return the p-value of equal completion; nan if all trials of both completed."""
    table = [[one.completed, one.not_completed] for one in (old, new)]
    if not any(failed for _, failed in table) or not all(map(sum, table)):
        return math.nan
    return float(stats.fisher_exact(np.array(table))[1])


def _difference(
    old: Sample, new: Sample, evidence: _Evidence | None, certain: tuple[bool, bool]
) -> TreatmentDifference:
    changed, completes = certain
    shares = [one.tally.completed / max(1, one.tally.ended) for one in (old, new)]
    low, high, coverage = evidence.interval() if evidence else (-math.inf, math.inf, 0.0)
    value = evidence.ratio.value if evidence else math.nan
    return TreatmentDifference(
        levels=new.levels,
        pairs=evidence.pairs if evidence else 0,
        blocks=evidence.blocks if evidence else (old.n, new.n),
        ratio=math.exp(value),
        low=math.exp(low),
        high=math.exp(high) if high < math.inf else math.inf,
        coverage=coverage,
        change=_change(value, low, high, coverage, changed=changed),
        completes=("less often" if shares[1] < shares[0] else "more often")
        if completes
        else "alike",
        tallies=(old.tally, new.tally),
    )


def _change(value: float, low: float, high: float, coverage: float, *, changed: bool) -> Change:
    if changed:
        return "lower" if value < 0 else "higher"
    edge = math.log1p(EQUAL_MARGIN)
    settled = math.isclose(coverage, CONFIDENCE) and -edge <= low and high <= edge
    return "equal" if settled else "open"
