"""A status as plain values, with the words that every view shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from httpbed.base import units
from httpbed.experiment.metric import METRICS
from httpbed.report.phrasing import (
    DASH,
    NumberFormat,
    bracketed,
    coverage,
    number_format,
    title,
    whole_treatment,
)
from httpbed.results.estimate import Estimate
from httpbed.results.status import Ended, Reason, Status, Treatment
from httpbed.store import damage

PROVISIONAL = (
    "Estimates change until the campaign ends. A rule that stops at a difference finds differences"
    " that do not exist."
)
"""docs/guides/grow.md has the numbers."""


def document(status: Status, *, running: bool) -> dict[str, Any]:
    """Return a status ready for :func:`json.dumps`.

    ``running``: whether a run works on the campaign now.
    """
    estimates = [one.estimate for one in status.treatments if one.estimate]
    scale = number_format(status.metric, (one.median.value for one in estimates))
    most = "at most " if status.planned_at_most else ""
    return {
        "schema": 1,
        "directory": str(status.directory),
        "name": status.name,
        "question": status.question,
        "planned": status.planned,
        "ended": status.ended,
        "outcomes": dict(sorted(status.outcomes.items())),
        "running": running,
        "left_s": status.left_s,
        "progress": f"{status.ended} of {most}{status.planned} trials ended",
        "state": _state(status, running=running),
        "counts": _counts(status),
        "invalid_attempts": [_reason(one) for one in status.invalid],
        "failures": [_reason(one) for one in status.failures],
        "last_invalid": _ended(status.last_invalid) if status.last_invalid else None,
        "metric": {
            "name": status.metric,
            "title": title(status.metric),
            "unit": METRICS[status.metric].unit,
            "coverage": coverage(one.interval for one in estimates),
        },
        "treatments": [_treatment(one, scale) for one in status.treatments],
        "events": [_ended(one) for one in status.events],
        "damaged": damage.values(status.damaged),
        "note": PROVISIONAL if running else "",
    }


def _state(status: Status, *, running: bool) -> str:
    left = units.format_long_duration(status.left_s) if status.left_s else ""
    if running:
        return "a run is in progress" + (f", about {left} left" if left else "")
    return "no run is in progress" + (f", the rest takes about {left}" if left else "")


def _counts(status: Status) -> str:
    """Say how the trials ended, and how many attempts were invalid."""
    ended = [f"{count} {kind}" for kind, count in sorted(status.outcomes.items())]
    spoilt = sum(one.count for one in status.invalid)
    attempts = [f"{spoilt} invalid attempt{'s' * (spoilt != 1)} kept aside"] if spoilt else []
    return "; ".join([", ".join(ended) or "none yet", *attempts])


def _reason(reason: Reason) -> dict[str, Any]:
    return {
        "count": reason.count,
        "outcome": reason.outcome,
        "programs": ", ".join(reason.programs),
        "reason": reason.latest,
    }


def _ended(one: Ended) -> dict[str, Any]:
    return {**asdict(one), "treatment": whole_treatment(one.levels)}


def _treatment(seen: Treatment, scale: NumberFormat) -> dict[str, Any]:
    sample, estimate = seen.sample, seen.estimate
    return {
        "levels": dict(sample.levels),
        "treatment": whole_treatment(sample.levels),
        "n": sample.n,
        "completed": sample.tally.completed,
        "planned": sample.tally.planned,
        "estimate": None if estimate is None else _numbers(estimate),
        "median": DASH if estimate is None else scale.bounded(estimate.median),
        "interval": "" if estimate is None else bracketed(scale, estimate.interval),
    }


def _numbers(found: Estimate) -> dict[str, Any]:
    interval = None if found.interval is None else asdict(found.interval)
    return {"median": asdict(found.median), "interval": interval}
