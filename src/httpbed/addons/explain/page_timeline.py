"""The link over the time of a page load: how long it was idle, and which packets it lost.

The emulator keeps a timeline of every trial. A browser's times count from the navigation, the
timeline's from the client's first packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from httpbed.addons.explain import evidence, outline
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.explanation import duration_text
from httpbed.addons.explain.outline import Bins
from httpbed.addons.explain.transfer import NS
from httpbed.addons.pages.load.browser_load import BrowserLoad
from httpbed.addons.pages.load.critical_path import BODY, SLOWER, CriticalPath
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


@dataclass(frozen=True)
class SlowBodies:
    """What the link did while bodies of a critical path came slower than it carries."""

    lasts_ns: int
    idle_ns: int
    lost: int
    """Packets to the client that it lost meanwhile, or up to a round trip before."""

    def sentence(self) -> str:
        """Say it, without a full stop."""
        packets = f"lost {self.lost} packet{'s' * (self.lost != 1)} to the client"
        return (
            f"While bodies came slower than the link carries, for {duration_text(self.lasts_ns)},"
            f" it was idle for {duration_text(self.idle_ns)} and"
            f" {packets if self.lost else 'lost no packet to the client'}"
        )

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "lasts_s": self.lasts_ns / NS,
            "idle_s": self.idle_ns / NS,
            "lost_packets": self.lost,
        }


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
    if load.navigation_ns is None:
        raise NoTransferError("its browser did not say when the navigation began")
    bins = outline.bins_of(result, described, None)
    try:
        times = [one["client_first_ns"] for one in result["connections"]]
        first = int(result["origin_ns"]) + min(int(one) for one in times if one is not None)
    except (KeyError, TypeError, ValueError):
        raise NoTransferError("its times are missing or damaged") from None
    return PageTimeline(bins, load.navigation_ns - first)


def slow_bodies(timeline: PageTimeline, path: CriticalPath) -> SlowBodies | None:
    """Return what the link did during the slow bodies of a path; None without any.

    A path tells for how long a body was slower than the link, and not when. So the times are those
    of the whole bodies.
    """
    spans = [(timeline.at(begin), timeline.at(end)) for begin, end in _slow(path)]
    if not spans:
        return None
    bins = timeline.bins
    return SlowBodies(
        sum(end - begin for begin, end in spans),
        round(sum(bins.idle_ns(begin, end) for begin, end in spans)),
        sum(bins.lost(begin, end) for begin, end in spans),
    )


def _slow(path: CriticalPath) -> Iterator[tuple[float, float]]:
    """Yield begin and end of each body of which a part came slower than the link carries."""
    for (_, is_body), steps in groupby(
        path.steps, lambda step: (step.request and step.request.id, step.what in BODY)
    ):
        some = list(steps)
        if is_body and any(step.what == SLOWER for step in some):
            yield some[0].begin_s, some[-1].end_s
