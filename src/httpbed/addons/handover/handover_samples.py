"""What hand-overs cost each treatment, and what became of its connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from httpbed.addons.handover.handover_model import HandoverKind, handover_of
from httpbed.experiment.factorial import TreatmentKey, treatment_key
from httpbed.experiment.metric import METRICS
from httpbed.experiment.roles import Retry
from httpbed.experiment.trial import MIGRATED, OVER_BEFORE, HandoverEvent
from httpbed.results import attempts
from httpbed.results.estimate import Estimate, estimate
from httpbed.results.findings import Extension, Findings, Row
from httpbed.results.sample import by_treatment, of_trials, samples, scenario
from httpbed.store.attempts import HANDOVERS, artifact_text, read_events
from httpbed.store.results import Results

TABLED = tuple(metric for metric in METRICS.values() if metric.handover_column)
"""Metrics whose median over the completed trials stands in the table of hand-overs."""
COUNTS = ("migrations", "migrations_failed")
"""Metrics that are summed over all valid trials."""


@dataclass(frozen=True)
class HandoverCosts:
    """What the hand-overs of one treatment cost."""

    kind: HandoverKind
    """What changes; ``none`` for a treatment to compare with."""
    retry: Retry
    """When a failed download is retried."""
    over_quic: bool
    """Whether the client's connections can migrate."""
    rtt_s: float
    """The sum of all delays on the client's path, in both directions, in seconds."""
    medians: Mapping[str, Estimate | None]
    """By name: the request time and the metrics in :data:`TABLED`."""
    counts: Mapping[str, int | None]
    """By the names in :data:`COUNTS`; None if no client reports it."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """Number of hand-overs by their outcome on the wire. Not counted: those before the client's
    first packet, those without an outcome, and ``over before``."""
    over_before: int = 0
    """Number of hand-overs with the outcome ``over before``."""
    unvalidated: int = 0
    """Number of migrations to a path that no client reported as validated."""
    before_any: int = 0
    """Number of trials that completed before their first hand-over."""

    @property
    def happens(self) -> bool:
        """Whether the treatment has hand-overs."""
        return self.kind != "none"

    def as_json(self) -> dict[str, Any]:
        """Return them for :func:`json.dumps`."""
        return {
            "happen": self.happens,
            "on_the_wire": dict(self.verdicts),
            "on_the_wire_over_before": self.over_before,
            "trials_over_before": self.before_any,
            "estimates": {name: one and one.values() for name, one in self.medians.items()},
            **self.counts,
        }

    def median(self, metric: str) -> float | None:
        """Return the median of a metric, or None."""
        median = self.medians.get(metric)
        return None if median is None else median.median.value


def of_campaign(results: Results) -> dict[TreatmentKey, HandoverCosts]:
    """Return each treatment's hand-overs; empty for an experiment without any."""
    if "handover" not in results.document:
        return {}
    names = ("request_time", *(metric.name for metric in TABLED))
    medians = {name: samples(results, name) for name in names}
    totals = {name: of_trials(results, name) for name in COUNTS}
    rows = by_treatment(results, attempts.valid(results))
    return {
        key: _costs(
            results,
            levels,
            medians={name: estimate(of_metric[key]) for name, of_metric in medians.items()},
            counts={name: _total(values, rows.get(key, [])) for name, values in totals.items()},
            rows=rows.get(key, []),
        )
        for levels in results.experiment.treatments()
        for key in (treatment_key(levels),)
    }


def _costs(
    results: Results,
    levels: Mapping[str, str],
    *,
    medians: Mapping[str, Estimate | None],
    counts: Mapping[str, int | None],
    rows: Iterable[Mapping[str, Any]],
) -> HandoverCosts:
    built = scenario(results, levels)
    handover = handover_of(built)
    kind = handover.kind if handover else "none"
    ended = [(row["outcome"], of_attempt(results, row)) for row in rows if kind != "none"]
    every = [event for _, events in ended for event in events]
    return HandoverCosts(
        kind=kind,
        retry=built.roles.client.retry,
        over_quic=built.roles.client.http_version == "3",
        rtt_s=built.rtt_s(built.access()),
        medians=medians,
        counts=counts,
        verdicts=Counter(event.verdict for event in every if _is_followable(event)),
        over_before=sum(_is_over_before(event) for event in every),
        unvalidated=sum(map(_is_unvalidated, every)) if counts["migrations"] is not None else 0,
        before_any=sum(
            outcome == "completed" and all(map(_is_over_before, events))
            for outcome, events in ended
        ),
    )


def _is_followable(event: HandoverEvent) -> bool:
    """Whether a connection existed at the hand-over, and its fate is known."""
    return event.verdict not in {"", OVER_BEFORE} and event.at_s > 0


def _is_over_before(event: HandoverEvent) -> bool:
    return event.verdict == OVER_BEFORE


def _is_unvalidated(event: HandoverEvent) -> bool:
    """Whether a client that could report path validation reported none.

    Behind a NAT the server validates.
    """
    return event.verdict == MIGRATED and event.left != event.entered and event.validated_s is None


def _total(
    values: Mapping[tuple[str, int], float], rows: Iterable[Mapping[str, Any]]
) -> int | None:
    known = [value for row in rows if (value := attempts.value_of(row, values)) is not None]
    return round(sum(known)) if known else None


def of_attempt(results: Results, row: Mapping[str, Any]) -> tuple[HandoverEvent, ...]:
    """Read one attempt's hand-overs."""
    attempt = results.artifact_folder(row).parent
    return tuple(read_events(artifact_text(attempt / HANDOVERS)))


def has_handovers(findings: Findings) -> bool:
    """Whether the experiment has hand-overs."""
    return any(costs_of(row) for _, row in findings.rows())


def costs_of(row: Row) -> HandoverCosts | None:
    """Return what a treatment's hand-overs cost; None where the experiment knows of none."""
    costs: HandoverCosts | None = row.extensions.get(EXTENSION.name)
    return costs


def _values(_results: Results, findings: Findings) -> Iterator[Mapping[str, Any]]:
    for _, row in findings.rows():
        costs = costs_of(row)
        yield {"handovers": costs and costs.as_json()}


EXTENSION = Extension("handover", of_campaign, _values)
