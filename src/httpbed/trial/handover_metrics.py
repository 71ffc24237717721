"""What a hand-over costs: silence, stall, and how soon the client is on its new path; pure.

What was delivered is known to the millisecond (:mod:`~httpbed.trial.deliveries`), and so are
silence, stall and the first delivery on a new path; a client's first packet is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from httpbed.model.handover import Handover
from httpbed.model.metric import Observation, Source
from httpbed.trial import deliveries
from httpbed.trial.deliveries import BIN_NS, STALLED_BYTES
from httpbed.trial.handover_seen import EARLY_NS, Change, HandoverSeen
from httpbed.trial.legs import Chain
from httpbed.trial.seen import Seen

NS = 1e9
BEFORE_NS = 10**9
"""Silence and stall of a hand-over are looked for from so long before it on: the last packet that
was delivered came before it, and where a timer ran, perhaps long before."""
MOST_ITEMS = 100
"""Hand-overs of which each is told; of more, the worst alone is."""


@dataclass(frozen=True)
class Window:
    """A hand-over with the time that is its own: until the next one, or the client's end."""

    change: Change
    until_ns: int

    def holds(self, at_ns: int) -> bool:
        """Whether something came of this hand-over."""
        return self.change.at_ns - EARLY_NS <= at_ns < self.until_ns

    def delay_s(self, times_ns: Sequence[int]) -> float | None:
        """Seconds until the first of these times that is within; None if none is."""
        within = [at_ns for at_ns in times_ns if self.holds(at_ns)]
        return max(0, min(within) - self.change.at_ns) / NS if within else None


def windows(found: HandoverSeen, end_ns: int) -> list[Window]:
    """Return the hand-overs that took place, each with its time."""
    ends = [*(change.at_ns for change in found.changes[1:]), end_ns]
    return [Window(change, end) for change, end in zip(found.changes, ends, strict=False)]


def observations(handover: Handover, chain: Chain, seen: Seen) -> Iterator[Observation]:
    """Take the metrics of hand-overs; of a stable address, its silence and stall."""
    if seen.handover is None:
        return
    taker = _Taker(handover, chain, seen, seen.handover)
    yield from taker.gaps()
    yield from taker.delays()
    yield from _migrations(chain, seen)
    yield from _fetched_twice(chain, seen)


def end_ns(chain: Chain, seen: Seen, found: HandoverSeen) -> int:
    """Return when the client was done: by its own close, or else when it was ended."""
    closes = [
        (connection["client_close_ns"] or connection["client_last_ns"]) - seen.link["started_ns"]
        for connection in chain.legs[0].near(seen.connections)
    ]
    done = seen.client is not None and seen.client.clean
    return max(closes) if done and closes else found.ended_ns


@dataclass(frozen=True)
class _Taker:
    handover: Handover
    chain: Chain
    seen: Seen
    found: HandoverSeen

    def gaps(self) -> Iterator[Observation]:
        bins = deliveries.together(self.seen.deliveries.values())
        if not bins:
            return
        end, first = self._end_ns // BIN_NS, min(bins)
        spans = [
            (max(first, (one.change.at_ns - BEFORE_NS) // BIN_NS), min(one.until_ns // BIN_NS, end))
            for one in self._windows
        ] or [(first, end)]
        for metric, least in (("delivery_silence", 1), ("delivery_stall", STALLED_BYTES)):
            took = [
                deliveries.longest_below(least, bins, begin, until) * BIN_NS / NS
                for begin, until in spans
                if begin < until
            ]
            yield from _told(metric, took, "wire")

    def delays(self) -> Iterator[Observation]:
        takers: dict[str, tuple[Callable[[Window], float | None], Source]] = {
            "probe_delay": (self._probe_s, "wire"),
            "validation_delay": (self._validation_s, "client"),
            "new_path_delay": (self._new_path_s, "wire"),
        }
        for metric, (take, source) in takers.items():
            yield from _told(metric, [take(one) for one in self._windows], source)

    def _probe_s(self, window: Window) -> float | None:
        return window.delay_s([first_ns(one, self.seen) for one in self._new(window)])

    def _validation_s(self, window: Window) -> float | None:
        zero_ns = self.seen.link["origin_ns"] + self.seen.link["started_ns"]
        events = self.seen.findings[self.chain.client].path_events
        return window.delay_s([one.at_ns - zero_ns for one in events if one.kind == "validated"])

    def _new_path_s(self, window: Window) -> float | None:
        if self.handover.kind == "NAT rebinding":  # before it, the path is the same
            return None
        bins = self.seen.deliveries.get(window.change.entered, {})
        # A bin is told by its middle: what was in it came half a millisecond from there at most.
        return window.delay_s([bin_ * BIN_NS + BIN_NS // 2 for bin_ in bins])

    def _new(self, window: Window) -> list[Mapping[str, Any]]:
        return on_new_path(self.handover, window, self.chain, self.seen)

    @property
    def _windows(self) -> list[Window]:
        return windows(self.found, self._end_ns)

    @property
    def _end_ns(self) -> int:
        return end_ns(self.chain, self.seen, self.found)


def on_new_path(
    handover: Handover, window: Window, chain: Chain, seen: Seen
) -> list[Mapping[str, Any]]:
    """Return the client's connections that were first seen on the new path, in order of time.

    Behind a NAT that forgot they are seen on the link after it, with another port.
    """
    ways = chain.legs[0].ways
    behind = {way.names[0]: way.names[1] for way in ways if len(way.names) > 1}
    is_nat = handover.kind == "NAT rebinding"
    link = behind.get(window.change.entered, "") if is_nat else window.change.entered
    return begun(link, window, chain, seen)


def begun(link: str, window: Window, chain: Chain, seen: Seen) -> list[Mapping[str, Any]]:
    """Return the client's connections that were first seen on a link within a window."""
    known = chain.legs[0].over(link, seen.connections)
    within = [
        one
        for one in known
        if one["client_first_ns"] is not None and window.holds(first_ns(one, seen))
    ]
    return sorted(within, key=lambda one: one["client_first_ns"])


def first_ns(connection: Mapping[str, Any], seen: Seen) -> int:
    """Return when the client's first packet of a connection came, since the emulator's start."""
    return int(connection["client_first_ns"]) - int(seen.link["started_ns"])


def _told(metric: str, values: Sequence[float | None], source: Source) -> Iterator[Observation]:
    """Tell of each hand-over, where there are several, and of the worst of those that tell."""
    if 1 < len(values) <= MOST_ITEMS:
        for number, value in enumerate(values, start=1):
            if value is not None:
                item = f"hand-over {number}"
                yield Observation(metric=metric, value=value, source=source, item=item)
    if known := [value for value in values if value is not None]:
        yield Observation(metric=metric, value=max(known), source=source)


def _migrations(chain: Chain, seen: Seen) -> Iterator[Observation]:
    if (told := seen.findings[chain.client].migrations) is not None:
        yield Observation(metric="migrations", value=told.tried, source="client")
        yield Observation(metric="migrations_failed", value=told.failed, source="client")


def _fetched_twice(chain: Chain, seen: Seen) -> Iterator[Observation]:
    """Count by the client's own word: of what it was sent, much may be lost with a connection."""
    sizes = [one.body_bytes for one in seen.findings[chain.client].requests]
    known = [size for size in sizes if size is not None]
    if sizes and len(known) == len(sizes) and seen.client and seen.client.clean:
        beyond = max(0, sum(known) - chain.workload.body_bytes())
        yield Observation(metric="bytes_fetched_twice", value=beyond, source="client")
