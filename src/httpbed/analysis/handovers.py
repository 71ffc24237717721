"""What hand-overs cost each treatment, and what became of its connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.analysis import timelines
from httpbed.analysis.estimate import Estimate, estimate
from httpbed.analysis.sample import Key, by_treatment, of_trials, samples, scenario
from httpbed.experiment.handover import HandoverKind
from httpbed.experiment.handover_event import MIGRATED, OVER_BEFORE, HandoverEvent
from httpbed.experiment.roles import Retry
from httpbed.store.results import Results

MEDIANS = (
    "request_time",
    "delivery_stall",
    "delivery_silence",
    "probe_delay",
    "validation_delay",
    "new_path_delay",
    "bytes_fetched_twice",
    "client_runs",
)
"""Metrics that are told as the median of the trials that completed."""
COUNTS = ("migrations", "migrations_failed")
"""Metrics that are added up over all trials whose bed held."""


@dataclass(frozen=True)
class Moves:
    """One treatment's hand-overs."""

    kind: HandoverKind
    """What changes; where nothing does, the treatment is there to compare with."""
    retry: Retry
    """What is done about a client's download that failed."""
    over_quic: bool
    """Whether the client's connections could migrate at all."""
    rtt_s: float
    """All delays on the client's way, there and back."""
    medians: Mapping[str, Estimate | None]
    """By the names in :data:`MEDIANS`."""
    counts: Mapping[str, int | None]
    """By the names in :data:`COUNTS`; None where nobody told."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """How many hand-overs ended as the wire shows, by the names in :mod:`moment`; without those
    that nobody could follow any more, or not yet: before the client's first packet nothing is there
    to be taken along."""
    over_before: int = 0
    """Number of those."""
    unvalidated: int = 0
    """How many of those that migrated went to a path of which no client told that it is valid."""
    before_any: int = 0
    """Number of trials that completed before their first hand-over could be followed."""

    @property
    def happens(self) -> bool:
        """Whether anything changes."""
        return self.kind != "none"

    def median(self, metric: str) -> float | None:
        """Return the median of a metric, or None."""
        found = self.medians.get(metric)
        return None if found is None else found.median.value


def of_campaign(results: Results) -> dict[Key, Moves]:
    """Return each treatment's hand-overs; empty for an experiment without any."""
    if "handover" not in results.document:
        return {}
    medians = {name: samples(results, name) for name in MEDIANS}
    texts = {name: of_trials(results, name) for name in COUNTS}
    rows = by_treatment(results, timelines.attempts(results))
    return {
        key: _moves(
            results,
            levels,
            medians={name: estimate(found[key]) for name, found in medians.items()},
            counts={name: _total(found, rows.get(key, [])) for name, found in texts.items()},
            rows=rows.get(key, []),
        )
        for levels in results.experiment.treatments()
        for key in (tuple(levels.values()),)
    }


def _moves(
    results: Results,
    levels: Mapping[str, str],
    *,
    medians: Mapping[str, Estimate | None],
    counts: Mapping[str, int | None],
    rows: Iterable[Mapping[str, Any]],
) -> Moves:
    built = scenario(results, levels)
    kind = built.handover.kind if built.handover else "none"
    seen = [(row["outcome"], timelines.moments(results, row)) for row in rows if kind != "none"]
    every = [moment for _, moments in seen for moment in moments]
    return Moves(
        kind=kind,
        retry=built.roles.client.retry,
        over_quic=built.roles.client.http_version == "3",
        rtt_s=built.rtt_s(built.access()),
        medians=medians,
        counts=counts,
        verdicts=Counter(one.verdict for one in every if _is_followable(one)),
        over_before=sum(_is_over_before(one) for one in every),
        unvalidated=sum(map(_is_unvalidated, every)) if counts["migrations"] is not None else 0,
        before_any=sum(
            outcome == "completed" and all(map(_is_over_before, moments))
            for outcome, moments in seen
        ),
    )


def _is_followable(one: HandoverEvent) -> bool:
    """Whether there was a connection, and it is known what became of it."""
    return one.verdict not in {"", OVER_BEFORE} and one.at_s > 0


def _is_over_before(one: HandoverEvent) -> bool:
    return one.verdict == OVER_BEFORE


def _is_unvalidated(one: HandoverEvent) -> bool:
    """Whether a client that could report path validation reported none.

    Behind a NAT the server validates.
    """
    return one.verdict == MIGRATED and one.left != one.entered and one.validated_s is None


def _total(node: Mapping[tuple[str, int], float], rows: Iterable[Mapping[str, Any]]) -> int | None:
    found = [
        value for row in rows if (value := node.get((row["trial"], row["attempt"]))) is not None
    ]
    return round(sum(found)) if found else None
