"""Which fixed window holds the bodies of a page load, from what every load leaves.

A stream that a window holds brings one window in each round trip, whatever other streams do
meanwhile. So a body is held if it came at that pace: its bytes are at least six windows, by the
browser's times of its first and last byte it brought one window per round trip, and the emulator's
timeline says that the link had time left and dropped nothing. The round trip is that of the
timeline for the same time. Neither packets nor secrets are needed.

Six, because a congestion window that grows from its first value brings three to five windows of
64 KiB in as many round trips, too. Smaller bodies are not judged, nor any after a loss.

A browser's times count from the navigation, the timeline's from the client's first packet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.addons.explain import evidence, outline, windows
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.explanation import duration_text, size_text
from httpbed.addons.explain.outline import Bins
from httpbed.addons.explain.transfer import NS
from httpbed.addons.explain.windows import HTTP2_DEFAULT, NamedWindow
from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.loads import PageTrial
from httpbed.addons.pages.report import waterfall
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.scenario import Scenario
from httpbed.programs.catalog import Catalog
from httpbed.report.phrasing import listed, title
from httpbed.results.sample import scenario
from httpbed.store.results import Results

MIN_WINDOWS = 6
LEAST, MOST = 0.85, 1.08
"""Bytes of a held body in a round trip, as shares of the window: less while the congestion window
is small at first, more by the bytes of frames."""
MIN_IDLE = 0.1
"""Share of a body's time for which the link has to be idle."""
MAX_NAMED = 3
"""Bodies that a sentence names."""


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


@dataclass(frozen=True)
class HeldBody:
    """A body that came at a window's pace, with its times in ns since the client's first packet."""

    request: PageRequest
    of: NamedWindow
    begin: int
    end: int
    bytes: int
    """In a round trip."""
    rounds: int


@dataclass(frozen=True)
class HeldLoad:
    """The bodies of a load that one window held, and what that cost."""

    bodies: tuple[HeldBody, ...]
    """The largest first."""
    idle_ns: int
    """For how long the link carried nothing while any of them came."""
    whole_ns: int
    """The page load time: from the navigation to the last byte."""
    fills_bytes: int

    @property
    def of(self) -> NamedWindow:
        """The window."""
        return self.bodies[0].of

    @property
    def share(self) -> float:
        """What it cost, as a share of the page load time."""
        return self.idle_ns / max(1, self.whole_ns)

    def sentence(self) -> str:
        """Say it, without a full stop."""
        names = waterfall.short_names([body.request for body in self.bodies])
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        first = self.bodies[0]
        each = " each" if len(names) > 1 else ""
        return (
            f"{listed(names[:MAX_NAMED])}{more} brought"
            f" {size_text(first.bytes)}{each} in a round trip, for {first.rounds}"
            f" round trips, while the link was idle for {duration_text(self.idle_ns)}"
            f" ({100 * self.share:.0f} % of the {title('page_load_time')}). The window is {self.of}"
            f" ({self.of.window.holds}). {size_text(self.fills_bytes)} would fill"
            " this link"
        )

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "program": self.of.program,
            "knob": self.of.name,
            "size": self.of.size,
            "source": self.of.window.source,
            "idle_s": self.idle_ns / NS,
            "fills_bytes": self.fills_bytes,
            "bodies": [
                {"url": one.request.url, "bytes_per_round_trip": one.bytes, "rounds": one.rounds}
                for one in self.bodies
            ],
        }


def can_hold(described: Scenario, catalog: Catalog) -> bool:
    """Whether a window of a program could hold a body below what the path carries."""
    link, way = described.bottleneck()
    rate = described.topology.links[link].directions()[way].mean_bit_s()
    fills = (rate or 0) * described.rtt_s(described.access()) / 8
    return any(one.size < fills for one in of_streams(described, catalog))


def of_streams(described: Scenario, catalog: Catalog) -> Iterator[NamedWindow]:
    """Yield the windows that hold one body.

    Browsers announce larger windows than HTTP/2's first one.
    """
    for one in windows.candidates(described, catalog):
        if one.window is not HTTP2_DEFAULT and one.window.holds != "congestion window":
            yield one


def of_connections(described: Scenario, catalog: Catalog) -> Iterator[NamedWindow]:
    """Yield the congestion windows, which hold all bodies together."""
    for one in windows.candidates(described, catalog):
        if one.window.holds == "congestion window":
            yield one


def of_trial(results: Results, trial: PageTrial, catalog: Catalog) -> HeldLoad | None:
    """Return what held bodies of a trial's load for longest; None if nothing is known to."""
    row = {"block": trial.block, "trial": trial.trial, "attempt": trial.attempt}
    if results.artifacts.altered(row, LINK_RESULT):
        return None
    try:
        result = evidence.json_object(results.artifact_folder(row) / LINK_RESULT)
        return of_load(result, trial.load, scenario(results, trial.levels), catalog)
    except NoTransferError:
        return None


def of_load(
    result: Mapping[str, Any], load: BrowserLoad, described: Scenario, catalog: Catalog
) -> HeldLoad | None:
    """Return what held the bodies of a load for longest; None: nothing is known to.

    :raises NoTransferError: when the emulator's ``result`` shows no timeline of this load alone.
    """
    if described.handover is not None:
        raise NoTransferError("its client changes its link")
    bins = outline.bins_of(result, described, None)
    zero = navigation_ns(result, load, bins.origin)
    last_s = timing.page_load_time_s(load)
    if last_s is None:
        return None
    groups = defaultdict[str, list[HeldBody]](list)
    candidates = [*of_streams(described, catalog)]
    for request in timing.fetched(load):
        if body := _held(request, bins, zero, candidates):
            groups[str(body.of)].append(body)
    every = [_joined(bodies, bins, round(last_s * NS)) for bodies in groups.values()]
    return max(every, key=lambda one: one.idle_ns, default=None)


def _held(
    request: PageRequest, bins: Bins, zero: int, candidates: Sequence[NamedWindow]
) -> HeldBody | None:
    if request.headers_end_s is None or request.ended_s is None:
        return None
    begin, end = (round(at * NS) + zero for at in (request.headers_end_s, request.ended_s))
    if end <= begin or bins.drops(begin, end):
        return None
    if bins.idle_ns(begin, end) < MIN_IDLE * (end - begin):
        return None
    round_trip_ns = bins.round_trip_ns(begin, end)
    pace = request.wire_bytes * round_trip_ns / (end - begin)
    fitting = [
        one
        for one in candidates
        if LEAST * one.size <= pace <= MOST * one.size
        and request.wire_bytes >= MIN_WINDOWS * one.size
    ]
    if not fitting:
        return None
    window = min(fitting, key=lambda one: abs(one.size - pace))
    rounds = round((end - begin) / round_trip_ns)
    return HeldBody(request, window, begin, end, round(pace), rounds)


def _joined(bodies: Sequence[HeldBody], bins: Bins, whole_ns: int) -> HeldLoad:
    spans = timing.merged((body.begin, body.end) for body in bodies)
    idle = sum(bins.idle_ns(begin, end) for begin, end in spans)
    largest = sorted(bodies, key=lambda one: -one.request.wire_bytes)
    return HeldLoad(tuple(largest), round(idle), whole_ns, bins.fills_bytes)
