"""Watches a campaign: yields its status as a document whenever that changes, until the run ends.

Watching takes CPU time from the trials, so it is bounded: after each reading, the watcher rests a
hundred times as long as its process has used the CPU since the reading before. So it uses at most
1 % of a core, however large the campaign is; the views of a large one change less often. The start
is not counted, because it happens once: Python, the statistics, and the first reading.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from httpbed.addons.live import status
from httpbed.base.errors import ConfigError
from httpbed.results.findings import default_metric
from httpbed.store import campaign_folder
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
        return status.document(self._campaign.results, self._metric, running=running)


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
