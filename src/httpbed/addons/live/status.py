"""How far a campaign is: what ended and why, the estimates so far, and the time left.

One value for every view: ``httpbed report --status`` and the terminal during a run.
The estimates are those of the report. They change until the campaign ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.sample import Sample, by_treatment, planned_blocks, samples, scenario
from httpbed.store.damage import Damage
from httpbed.store.results import Results

MIN_ATTEMPTS_FOR_TIME_LEFT = 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Reason:
    """Why some attempts or trials did not complete.

    Reasons that differ only in their numbers, such as a lateness, count as one.
    """

    latest: str
    count: int
    outcome: str
    programs: tuple[str, ...] = ()
    """The implementations of the trials that failed; empty for invalid attempts."""


@dataclass(frozen=True)
class Ended:
    """An attempt that ended."""

    started: str
    """UTC, ISO 8601."""
    block: int
    trial: str
    attempt: int
    levels: Mapping[str, str]
    outcome: str
    reason: str


@dataclass(frozen=True)
class Treatment:
    """What is known of one treatment so far."""

    sample: Sample
    estimate: Estimate | None
    """None without any value."""


@dataclass(frozen=True)
class Status:
    """How far a campaign is."""

    directory: Path
    name: str
    question: str
    planned: int
    planned_at_most: bool
    """Whether treatments may stop earlier, by their interval."""
    outcomes: Counter[str]
    """Number of trials by the outcome of their last attempt."""
    invalid: tuple[Reason, ...]
    """Reasons of invalid attempts, the commonest first."""
    failures: tuple[Reason, ...]
    """Reasons of trials that have an outcome but did not complete, the commonest first."""
    last_invalid: Ended | None
    metric: str
    treatments: tuple[Treatment, ...]
    damaged: tuple[Damage, ...]
    """Attempts that differ from what was written; they count as missing."""
    left_s: float | None
    """How long the missing trials take; None with too few attempts."""

    @property
    def ended(self) -> int:
        """Number of trials with an attempt."""
        return self.outcomes.total()


def of(results: Results, metric: str) -> Status:
    """Return how far a campaign is, with estimates of one metric."""
    rows = sorted(results.trials.to_pylist(), key=itemgetter("started", "attempt"))
    last = results.last_attempts
    spoilt = [row for row in rows if row["outcome"] == "invalid"]
    by_treatment = samples(results, metric).values()
    return Status(
        directory=results.directory,
        name=results.experiment.name,
        question=results.experiment.question,
        planned=results.planned,
        planned_at_most=bool(results.manifest.get("until")),
        outcomes=Counter(row["outcome"] for row in last),
        invalid=_reasons((row, ()) for row in spoilt),
        failures=_failures(results, last),
        last_invalid=_ended(results, spoilt[-1]) if spoilt else None,
        metric=metric,
        treatments=tuple(Treatment(sample, estimate(sample)) for sample in by_treatment),
        damaged=results.damaged,
        left_s=time_left_s(rows, _missing(results, last), results.experiment.factors),
    )


def _ended(results: Results, row: Row) -> Ended:
    names = ("started", "block", "trial", "attempt", "outcome", "reason")
    return Ended(levels=results.levels(row), **{name: row[name] for name in names})


def _failures(results: Results, last: Sequence[Row]) -> tuple[Reason, ...]:
    known: dict[TreatmentKey, tuple[str, ...]] = {}

    def programs(row: Row) -> tuple[str, ...]:
        key = treatment_key(row, results.experiment.factors)
        if key not in known:
            levels = dict(zip(results.experiment.factors, key, strict=True))
            implementations = scenario(results, levels).implementations.values()
            known[key] = tuple(dict.fromkeys(implementations))
        return known[key]

    failed = [row for row in last if row["outcome"] not in {"completed", "invalid"}]
    in_order = sorted(failed, key=itemgetter("started"))
    return _reasons((row, programs(row)) for row in in_order)


def _reasons(rows: Iterable[tuple[Row, tuple[str, ...]]]) -> tuple[Reason, ...]:
    """Count the reasons of attempts, which are in order of time; the commonest first."""
    counts: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    latest: dict[tuple[str, str, tuple[str, ...]], str] = {}
    for row, programs in rows:
        reason = row["reason"] or "no reason given"
        kind = (row["outcome"], _NUMBER.sub("0", reason), programs)
        counts[kind] += 1
        latest[kind] = reason
    return tuple(
        Reason(latest[kind], count, kind[0], kind[2]) for kind, count in counts.most_common()
    )


def _missing(results: Results, last: Sequence[Row]) -> dict[TreatmentKey, int]:
    """Return how many trials of each treatment have no attempt."""
    ended = by_treatment(results, [dict(row) for row in last])
    planned = planned_blocks(results)
    return {key: max(0, blocks - len(ended.get(key, ()))) for key, blocks in planned.items()}


def time_left_s(
    rows: Sequence[Row], missing: Mapping[TreatmentKey, int], factors: Iterable[str]
) -> float | None:
    """Return how long the missing trials take, each like the attempts at its treatment.

    A trial takes the median of its treatment, or of all attempts if its treatment has none, as many
    times as trials needed attempts so far. The usual distance between two starts, beside the usual
    length of an attempt, shows how many run side by side; its median ignores pauses between runs.

    Args:
        rows: The attempts, in order of their starts.
        missing: How many trials of each treatment have no attempt.
        factors: The names of the columns that make up a treatment's key.

    Returns:
        Seconds; None with fewer than three attempts.
    """
    starts = [datetime.fromisoformat(row["started"]).timestamp() for row in rows]
    usual_s = median(row["wall_s"] for row in rows) if rows else 0.0
    if len(starts) < MIN_ATTEMPTS_FOR_TIME_LEFT or not usual_s:
        return None
    names = [*factors]
    lengths: dict[TreatmentKey, list[float]] = {}
    for row in rows:
        lengths.setdefault(treatment_key(row, names), []).append(row["wall_s"])
    whole_s = sum(
        count * (median(lengths[key]) if key in lengths else usual_s)
        for key, count in missing.items()
    )
    distance_s = median(later - earlier for earlier, later in pairwise(starts))
    attempts = len(rows) / len({row["trial"] for row in rows})
    return whole_s * attempts * distance_s / usual_s
