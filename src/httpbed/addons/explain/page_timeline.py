"""The link over the time of a page load: how long it was idle, and which packets it lost.

The emulator keeps a timeline of every trial. A browser's times count from the navigation, the
timeline's from the client's first packet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from httpbed.addons.explain import evidence, outline
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.outline import Bins
from httpbed.addons.explain.transfer import NS
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.loads import PageTrial
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.scenario import Scenario
from httpbed.results.sample import scenario
from httpbed.store import layout
from httpbed.store.results import Results


@dataclass(frozen=True)
class PageTimeline:
    """What the link towards the client carried and lost during a load."""

    bins: Bins
    zero: int
    """The navigation, in ns since the client's first packet."""

    def at(self, since_s: float) -> int:
        """Return a browser's time in ns since the client's first packet."""
        return round(since_s * NS) + self.zero


def read(results: Results, trial: PageTrial) -> PageTimeline | None:
    """Return the timeline of an attempt; None if it is damaged or shows more than the load."""
    row = {"block": trial.block, "trial": trial.trial, "attempt": trial.attempt}
    if results.artifacts.altered(row, LINK_RESULT):
        return None
    folder = layout.artifacts(results.directory, trial.block, trial.trial, trial.attempt)
    try:
        result = evidence.json_object(folder / LINK_RESULT)
        return of_result(result, trial.load, scenario(results, trial.levels))
    except NoTransferError:
        return None


def of_result(result: Mapping[str, Any], load: BrowserLoad, described: Scenario) -> PageTimeline:
    """Return the timeline in what the emulator kept.

    :raises NoTransferError: when it kept none, or it shows more than this load.
    """
    if described.handover is not None:
        raise NoTransferError("its client changes its link")
    bins = outline.bins_of(result, described, None)
    try:
        times = [one["client_first_ns"] for one in result["connections"]]
        first = min(int(one) for one in times if one is not None)
    except (KeyError, TypeError, ValueError):
        raise NoTransferError("its times are missing or damaged") from None
    return PageTimeline(bins, navigation_ns(result, load, first))


def navigation_ns(result: Mapping[str, Any], load: BrowserLoad, first: int) -> int:
    """Return the navigation, in ns since the client's first packet on the emulator's clock.

    :raises NoTransferError: when the emulator or the browser did not say.
    """
    if load.navigation_ns is None:
        raise NoTransferError("its browser did not say when the navigation began")
    try:
        return load.navigation_ns - int(result["origin_ns"]) - first
    except (KeyError, TypeError, ValueError):
        raise NoTransferError("its times are missing or damaged") from None
