"""Watches a campaign: yields its status as a document whenever that changes, until the run ends.

Watching takes CPU time from the trials, so it is bounded: after each reading, the watcher rests a
hundred times as long as its process has used the CPU since the reading before. So it uses at most
1 % of a core, however large the campaign is; the views of a large one change less often. The start
is not counted, because it happens once: Python, the statistics, and the first reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from httpbed.addons.live import status
from httpbed.addons.live.status import Ended, Reason, Status, Treatment
from httpbed.base import units
from httpbed.base.errors import ConfigError
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
from httpbed.results.findings import default_metric
from httpbed.store import campaign_folder, damage
from httpbed.store.finished import GrowingCampaign

SHARE = 0.01
"""The largest share of a core that watching takes."""
MIN_REST_S = 2.0
GLANCE_S = 1.0
"""How often a resting watcher looks whether the run still holds the campaign."""


class Watched:
    """A campaign as of the last reading, and its status."""

    def __init__(self, directory: Path) -> None:
        self._campaign = GrowingCampaign(directory)
        self._experiment = self._campaign.results.experiment
        self._metric = default_metric(self._campaign.results)

    def refresh(self) -> bool:
        """Read what is new; return whether anything changed."""
        changed = self._campaign.refresh()
        if self._campaign.results.experiment is not self._experiment:
            self._experiment = self._campaign.results.experiment
            self._metric = default_metric(self._campaign.results)
        return changed

    def document(self, *, running: bool) -> dict[str, Any]:
        """Describe how far the campaign is."""
        return document(status.of(self._campaign.results, self._metric), running=running)


def once(directory: Path) -> dict[str, Any]:
    """Return the status of a campaign as a document.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    running = campaign_folder.is_locked(directory)  # first: what a run adds later is not missed
    return Watched(directory).document(running=running)


def documents(
    directory: Path,
    sleep: Callable[[float], None] = time.sleep,
    cpu_s: Callable[[], float] = time.process_time,
) -> Iterator[dict[str, Any]]:
    """Yield the status of a campaign now, after each change, and when no run works on it any more.

    Raises:
        ConfigError: The folder is not a campaign.
    """
    running = campaign_folder.is_locked(directory)
    watched = Watched(directory)
    yield watched.document(running=running)
    at_s = cpu_s()
    while running:
        _rest(directory, rest_s(cpu_s() - at_s), sleep)
        at_s = cpu_s()
        running = campaign_folder.is_locked(directory)
        if _refreshed(watched, running=running) or not running:
            yield watched.document(running=running)


def rest_s(used_s: float) -> float:
    """Return how long to rest after so many CPU seconds."""
    return max(MIN_REST_S, used_s / SHARE)


def _rest(directory: Path, whole_s: float, sleep: Callable[[float], None]) -> None:
    """Rest so long, or until the run ends."""
    while whole_s > 0 and campaign_folder.is_locked(directory):
        sleep(min(GLANCE_S, whole_s))
        whole_s -= GLANCE_S


def _refreshed(watched: Watched, *, running: bool) -> bool:
    """Read what is new; a run that replaces the campaign's files is read at the next time."""
    try:
        return watched.refresh()
    except ConfigError:
        if running:
            return False
        raise


PROVISIONAL = (
    "Estimates change until the campaign ends. A rule that stops at a difference finds differences"
    " that do not exist."
)
"""docs/guides/grow.md has the numbers."""


def document(status: Status, *, running: bool) -> dict[str, Any]:
    """Return a status ready for :func:`json.dumps`.

    ``running``: whether a run works on the campaign now.
    """
    estimates = [treatment.estimate for treatment in status.treatments if treatment.estimate]
    scale = number_format(status.metric, (estimate.median.value for estimate in estimates))
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
        "invalid_attempts": [_reason(reason) for reason in status.invalid],
        "failures": [_reason(failure) for failure in status.failures],
        "last_invalid": _ended(status.last_invalid) if status.last_invalid else None,
        "metric": {
            "name": status.metric,
            "title": title(status.metric),
            "unit": METRICS[status.metric].unit,
            "coverage": coverage(estimate.interval for estimate in estimates),
        },
        "treatments": [_treatment(treatment, scale) for treatment in status.treatments],
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
    spoilt = sum(reason.count for reason in status.invalid)
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
