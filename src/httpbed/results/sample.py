"""Samples: the values of one metric for one treatment by block, censored ones included.

What counts is the last attempt of each trial. A trial that timed out has no time, yet it says
something: its time is longer than the limit. Its value is **censored**: known only to lie
beyond a bound. A trial without any valid attempt says nothing, because the test bed spoilt it. Its
value is **unknown**, whatever was observed. As worst it would flatter what is compared with it; if
it were left out, a program would gain if it made the attempts invalid that it dislikes. Both take
part in everything that is decided by rank (medians, their intervals, paired ratios), and are left
out of means, with their number said.

A statistic is computed with all these values as low as they may be, and as high as they may be.
Where both agree, the values do not matter. Where they differ, the result is only a bound, and is
printed with ``>`` or ``<``; what may be lower or higher is printed with ``?``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from httpbed.experiment.document import scenario_document
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS, ItemStatistic, Side
from httpbed.experiment.scenario import Scenario, of_campaign
from httpbed.experiment.workload_kinds import UnreadWorkload
from httpbed.store.results import Results

Floats = NDArray[np.float64]
Beyond = Side | Literal["?"]

BITS = 8
FAR = 1e6
"""Factor by which a censored value is moved beyond its bound to see whether it matters."""
LEAST, MOST = 1e-30, 1e30
"""Below and above any value of a metric, in its unit: where an unknown value may lie."""
MAX_HEADER_BYTES = 1000
"""Largest assumed header of one response, for the bound on the throughput of a page."""


@dataclass(frozen=True)
class Bounded:
    """A number, or a bound on it where censored values leave it open."""

    value: float
    beyond: Beyond = ""
    """``>``: the true number is above ``value``; ``<``: below; ``?``: on either side; empty: it is
    ``value``."""


@dataclass(frozen=True)
class Tally:
    """How the trials of a treatment, or of a campaign, ended."""

    planned: int
    outcomes: Counter[str] = field(default_factory=Counter)
    """Number of trials by the outcome of their last attempt."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of trials by outcome and reason, except completed ones."""

    @property
    def completed(self) -> int:
        """Number of trials that completed."""
        return self.outcomes["completed"]

    @property
    def recorded(self) -> int:
        """Number of trials with an outcome that is data: all but invalid ones."""
        return self.ended - self.outcomes["invalid"]

    @property
    def ended(self) -> int:
        """Number of trials that were attempted, those without a valid attempt included."""
        return self.outcomes.total()

    @property
    def not_completed(self) -> int:
        """Number of trials that are known not to have completed: all but invalid ones."""
        return self.recorded - self.completed

    def values(self) -> dict[str, Any]:
        """Return it for :func:`json.dumps`."""
        reasons = [
            {"outcome": outcome, "reason": reason, "count": count}
            for (outcome, reason), count in self.reasons.items()
        ]
        return {"planned": self.planned, "outcomes": dict(self.outcomes), "reasons": reasons}


@dataclass(frozen=True)
class Sample:
    """Values of one metric for one treatment."""

    metric: str
    levels: Mapping[str, str]
    observed: Mapping[int, float]
    """By block."""
    censored: Mapping[int, float]
    """By block: the bound beyond which the value of a trial that timed out lies."""
    side: Side
    """On which side of its bound a censored value lies."""
    tally: Tally
    unknown: frozenset[int] = frozenset()
    """The blocks without any valid attempt: their values may be any."""
    not_observed: int = 0
    """Number of completed trials in which this metric was not observed."""

    @property
    def n(self) -> int:
        """Number of values that enter rank statistics; 0 if all are unknown."""
        return len(self.presumed())

    def at_bound(self) -> dict[int, float]:
        """Values by block, censored ones at their bound, without unknown ones."""
        return dict(sorted({**self.observed, **self.censored}.items()))

    def presumed(self) -> dict[int, float]:
        """Values by block: censored ones at their bound, unknown ones at the median of the others.

        Empty if no value is known.
        """
        known = self.at_bound()
        if not (known and self.unknown):
            return known
        return self._with_unknown(known, float(np.median([*known.values()])))

    def lowest(self) -> dict[int, float]:
        """Values by block, censored and unknown ones as low as they may be."""
        return self._with_unknown(self._moved("<", 1 / FAR), LEAST)

    def highest(self) -> dict[int, float]:
        """Values by block, censored and unknown ones as high as they may be."""
        return self._with_unknown(self._moved(">", FAR), MOST)

    def _moved(self, side: Side, factor: float) -> dict[int, float]:
        """Return the known values, with censored ones moved if they lie on this side."""
        by = factor if self.side == side else 1.0
        return self.at_bound() | {block: bound * by for block, bound in self.censored.items()}

    def _with_unknown(self, known: dict[int, float], value: float) -> dict[int, float]:
        return dict(sorted((known | dict.fromkeys(self.unknown, value)).items()))


def between(lowest: float, value: float, highest: float) -> Bounded:
    """Return a value that is known to lie between two others."""
    is_lower, is_higher = (not math.isclose(one, value, rel_tol=1e-12) for one in (lowest, highest))
    both: Beyond = "?" if is_lower and is_higher else ""
    return Bounded(value, both or ("<" if is_lower else ">" if is_higher else ""))


def at_even_ranks(values: Mapping[int, float], most: int) -> dict[int, float]:
    """Return all values by block; of too many, some from the smallest to the largest."""
    if len(values) <= most:
        return dict(values)
    ranked = sorted(values.items(), key=lambda one: one[1])
    step = (len(ranked) - 1) / (most - 1)
    return dict(ranked[round(at * step)] for at in range(most))


def samples(results: Results, metric: str) -> dict[TreatmentKey, Sample]:
    """Gather the sample of each treatment, in the order of the experiment."""
    observed = of_trials(results, metric)
    rows = by_treatment(results, results.last_attempts)
    planned = planned_blocks(results)  # computed once, because it examines all treatments
    by_key = {}
    for levels in results.experiment.treatments():
        key = treatment_key(levels)
        own = [(row, observed.get((row["trial"], row["attempt"]))) for row in rows.get(key, [])]
        by_key[key] = _sample(results, metric, levels, own, planned.get(key, 0))
    return by_key


def of_trials(results: Results, metric: str) -> dict[tuple[str, int], float]:
    """Return a metric's values of whole trials, by trial and attempt."""
    table = results.observations
    wanted = pc.and_(pc.equal(table["metric"], metric), pc.equal(table["item"], ""))
    rows = table.filter(wanted)
    columns = (rows[name].to_pylist() for name in ("trial", "attempt", "value"))
    return {(trial, attempt): value for trial, attempt, value in zip(*columns, strict=True)}


def by_treatment(
    results: Results, rows: Iterable[dict[str, Any]]
) -> dict[TreatmentKey, list[dict[str, Any]]]:
    """Group rows by the treatment that their factor columns name."""
    groups: dict[TreatmentKey, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[treatment_key(row, results.experiment.factors)].append(row)
    return groups


def tally(planned: int, rows: Iterable[Mapping[str, Any]]) -> Tally:
    """Count outcomes and the reasons of those that did not complete."""
    rows = list(rows)
    reasons = Counter(
        (row["outcome"], row["reason"] or "no reason given")
        for row in rows
        if row["outcome"] != "completed"
    )
    return Tally(planned, Counter(row["outcome"] for row in rows), reasons)


def scenario(results: Results, levels: Mapping[str, str]) -> Scenario:
    """Return a treatment's scenario: its trials' own, which includes the files, if there is one."""
    of_trials = results.scenarios.get(treatment_key(levels, results.experiment.factors))
    document = of_trials or scenario_document(results.document, levels)
    return Scenario.model_validate(of_campaign(document))


def _sample(
    results: Results,
    metric: str,
    levels: Mapping[str, str],
    seen: Sequence[tuple[Mapping[str, Any], float | None]],
    planned: int,
) -> Sample:
    rows = [row for row, _ in seen]
    values = {row["block"]: value for row, value in seen}
    late = {row["block"]: row["time_limit_s"] for row in rows if row["outcome"] == "timed out"}
    invalid = {row["block"] for row in rows if row["outcome"] == "invalid"}
    done = {row["block"] for row in rows if row["outcome"] == "completed"}
    side = METRICS[metric].side
    counted = done | set(late) if METRICS[metric].counts_when_timed_out else done
    by_block = {b: value for b, value in values.items() if value is not None and b in counted}
    open_ = {b: limit for b, limit in late.items() if side and b not in by_block}
    return Sample(
        metric=metric,
        levels=levels,
        observed=by_block,
        censored={b: _bound(results, metric, levels, limit) for b, limit in open_.items()},
        side=side,
        tally=tally(planned, rows),
        unknown=frozenset(invalid) if side else frozenset(),
        not_observed=len(done - by_block.keys()),
    )


def planned_blocks(results: Results) -> Mapping[TreatmentKey, int]:
    """Number of blocks of each treatment in the design."""
    if results.blocks:
        return results.blocks
    treatments = [treatment_key(treatment) for treatment in results.experiment.treatments()]
    blocks = results.planned // len(treatments) or results.experiment.blocks
    return dict.fromkeys(treatments, blocks)


def _bound(results: Results, metric: str, levels: Mapping[str, str], limit_s: float) -> float:
    """Return the bound on the value of a trial that timed out."""
    censoring = METRICS[metric].censoring
    if not censoring.startswith("below"):
        return limit_s
    workload = scenario(results, levels).workload
    if isinstance(workload, UnreadWorkload):
        return math.inf
    if censoring == "below response rate" and workload.kind == "page":
        headers = workload.requests() * MAX_HEADER_BYTES
        return (workload.body_bytes() + headers) / limit_s
    return workload.body_bytes() * BITS / limit_s


_STATISTICS: Mapping[ItemStatistic, Callable[[Floats], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(values.mean()),
    "largest": lambda values: float(values.max()),
    "smallest": lambda values: float(values.min()),
    "range": lambda values: float(np.ptp(values)),
    "interquartile range": lambda values: float(np.subtract(*np.quantile(values, (0.75, 0.25)))),
}


def item_values(results: Results, metric: str) -> dict[TreatmentKey, dict[int, Floats]]:
    """Return the values of all items, by treatment and block, of trials that completed."""
    return {
        key: {block: np.array([*items.values()]) for block, items in own.items()}
        for key, own in named_items(results, metric).items()
    }


def named_items(results: Results, metric: str) -> dict[TreatmentKey, dict[int, dict[str, float]]]:
    """Return the values of items by treatment, block and name, of trials that completed."""
    table = results.observations
    wanted = pc.and_(pc.equal(table["metric"], metric), pc.not_equal(table["item"], ""))
    rows = table.filter(wanted)
    by_attempt: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    columns = (rows[name].to_pylist() for name in ("trial", "attempt", "item", "value"))
    for trial, attempt, item, value in zip(*columns, strict=True):
        by_attempt[trial, attempt][item] = value
    completed = [row for row in results.last_attempts if row["outcome"] == "completed"]
    return {
        key: {
            row["block"]: by_attempt[row["trial"], row["attempt"]]
            for row in own
            if (row["trial"], row["attempt"]) in by_attempt
        }
        for key, own in by_treatment(results, completed).items()
    }


def samples_of_items(
    results: Results, metric: str, statistic: ItemStatistic
) -> dict[TreatmentKey, Sample]:
    """Gather samples of one statistic over each trial's items; trials that timed out have none."""
    reduce = _STATISTICS[statistic]
    values = item_values(results, metric)
    return {
        key: replace(
            sample,
            observed={block: reduce(own) for block, own in values.get(key, {}).items()},
            censored={},
            unknown=frozenset(),
        )
        for key, sample in samples(results, metric).items()
    }
