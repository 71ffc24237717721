"""Metrics of hand-overs: silence, stall, and the time until the client uses its new path.

Deliveries are known to a millisecond (:mod:`~httpbed.addons.handover.handover_deliveries`), and so
are silence, stall and the first delivery on a new path. A client's first packet is known exactly.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import Any

from httpbed.addons.handover import handover_deliveries
from httpbed.addons.handover.handover_deliveries import BIN_NS, STALLED_BYTES
from httpbed.addons.handover.handover_evidence import HandoverChange, HandoverEvidence
from httpbed.addons.handover.handover_model import Handover
from httpbed.base.clock import NS
from httpbed.experiment.metric import Observation, Source
from httpbed.trial import client_requests, hops
from httpbed.trial.evidence import AttemptEvidence
from httpbed.trial.hops import Chain, NetworkHop

BEFORE_NS = 10**9
"""Silence and stall of a hand-over are searched from this long before it: the last delivery came
before the hand-over and, where a timer ran, perhaps long before."""
MAX_ITEMS = 100
"""Hand-overs with observations of their own; beyond that only the worst one is reported."""


@dataclass(frozen=True)
class HandoverWindow:
    """A hand-over with its time span: from its order until the next one, or the client's end.

    The kernel's message comes a little later than the change, because the process that logs it must
    get the CPU first, as must the client.
    """

    change: HandoverChange
    until_ns: int

    def delay_s(self, times_ns: Sequence[int]) -> float | None:
        """Return the seconds until the first of ``times_ns``, ascending; None: none is within."""
        index = bisect_left(times_ns, self.change.ordered_ns)
        if index == len(times_ns) or times_ns[index] >= self.until_ns:
            return None
        return max(0, times_ns[index] - self.change.at_ns) / NS


@dataclass(frozen=True)
class ObservedHandovers:
    """The hand-overs of an attempt with the client's evidence."""

    handover: Handover
    chain: Chain
    """The client's."""
    evidence: AttemptEvidence
    observed: HandoverEvidence

    @cached_property
    def end_ns(self) -> int:
        """When the client ended, in ns since the emulator's start."""
        size = self.chain.workload.body_bytes()
        return done_ns(self.chain.hops[0], self.evidence, self.observed, size or 0)

    @cached_property
    def windows(self) -> list[HandoverWindow]:
        """Every hand-over that was made; those after the client's end have an empty span."""
        changes, end_ns = self.observed.changes, self.end_ns
        ends = [*(min(change.ordered_ns, end_ns) for change in changes[1:]), end_ns]
        return [HandoverWindow(change, end) for change, end in zip(changes, ends, strict=False)]

    @cached_property
    def judged(self) -> list[HandoverWindow]:
        """Hand-overs that the client had time to react to."""
        return [window for window in self.windows if not self.is_over_before(window)]

    def is_over_before(self, window: HandoverWindow) -> bool:
        """Whether the client ended before a response on the new path was possible.

        A client that failed so soon does not count: the hand-over may be the cause.
        """
        client = self.evidence.client
        ends_here = client is not None and (client.clean or client.timed_out)
        lasts_s = (window.until_ns - window.change.ordered_ns) / NS
        return ends_here and window.until_ns == self.end_ns and lasts_s < self._idle_rtt_s(window)

    def _idle_rtt_s(self, window: HandoverWindow) -> float:
        """Return the idle round-trip time over the link entered, in seconds."""
        hop, link = self.chain.hops[0], window.change.entered
        path = next((one for one in hop.paths if one.names[0] == link), hop.paths[0])
        return min(self.evidence.pings_s.get(hop.title_over(path), ()), default=0.0)

    def gaps(self) -> Iterator[Observation]:
        """Yield silence and stall of each hand-over; without hand-overs, of the whole attempt."""
        bins = handover_deliveries.together(self.observed.deliveries.values())
        if not bins or (self.handover.happens and not self.judged):
            return
        end, times = self.end_ns // BIN_NS, sorted(bins)
        spans = [
            (
                max(times[0], (window.change.at_ns - BEFORE_NS) // BIN_NS),
                min(window.until_ns // BIN_NS, end),
            )
            for window in self.judged
        ]
        for metric, least in (("delivery_silence", 1), ("delivery_stall", STALLED_BYTES)):
            took = [
                handover_deliveries.longest_below(least, bins, times, begin, until) * BIN_NS / NS
                if begin < until
                else None
                for begin, until in spans or [self._stable_span(times[0], end)]
            ]
            yield from _per_handover(metric, took, "wire")

    def _stable_span(self, first: int, end: int) -> tuple[int, int]:
        """Leave out the first second, in which handshake and slow start are silent.

        That lasts some round trips, until there is more to send than one flight.
        """
        later = first + BEFORE_NS // BIN_NS
        return (later if later < end else first), end

    def delays(self) -> Iterator[Observation]:
        """Yield how soon the client used each new path."""
        yield from _per_handover(
            "probe_delay", [self.first_sent_s(window) for window in self.judged], "wire"
        )
        validated = [self.validation_s(window) for window in self.judged]
        yield from _per_handover("validation_delay", validated, "client")
        yield from _per_handover(
            "new_path_delay", [self.new_path_s(window) for window in self.judged], "wire"
        )

    def first_sent_s(self, window: HandoverWindow) -> float | None:
        """Return the seconds until the client's first packet on the new path."""
        link = self.beyond(window)
        return window.delay_s([at_ns for at_ns, _ in self._begun.get(link, ())])

    def validation_s(self, window: HandoverWindow) -> float | None:
        """Return the seconds until the client reports its path over the new link as validated.

        The answer to a challenge of the previous hand-over may arrive as late as this.
        """
        addresses = {path.names[0]: path.client_address for path in self.chain.hops[0].paths}
        others = set(addresses.values()) - {addresses.get(window.change.entered)}
        return window.delay_s([at for at, local in self._validated if local not in others])

    def new_path_s(self, window: HandoverWindow) -> float | None:
        """Return the seconds until the first delivery on the new path; unknown behind a NAT."""
        if self.handover.kind == "NAT rebinding":
            return None
        return window.delay_s(self._delivered_ns.get(window.change.entered, ()))

    def beyond(self, window: HandoverWindow) -> str:
        """Name the link that shows the new path: behind a NAT, the one after it."""
        if self.handover.kind != "NAT rebinding":
            return window.change.entered
        names = self.chain.hops[0].paths[0].names
        return names[1] if len(names) > 1 else ""

    def is_on(self, link: str, window: HandoverWindow) -> bool:
        """Whether a link delivered more than path validation and closes within a span."""
        delivered = self.delivered_bytes(link, window.change.at_ns, window.until_ns)
        return delivered >= STALLED_BYTES

    def delivered_bytes(self, link: str, from_ns: int, until_ns: int) -> int:
        """Return the bytes that a link delivered between two times."""
        times = self._delivered_ns.get(link, ())
        first, last = bisect_left(times, from_ns), bisect_left(times, until_ns)
        sizes = self._cumulated.get(link, (0,))
        return max(0, sizes[last] - sizes[first])

    def before(self, window: HandoverWindow) -> HandoverWindow | None:
        """Return the previous hand-over."""
        index = window.change.number - 2
        return self.windows[index] if index >= 0 else None

    def begun(self, link: str, window: HandoverWindow) -> list[Mapping[str, Any]]:
        """Return the client's connections that were first seen on a link within a window."""
        known = self._begun.get(link, [])
        first = bisect_left(known, window.change.ordered_ns, key=itemgetter(0))
        last = bisect_left(known, window.until_ns, key=itemgetter(0))
        return [one for _, one in known[first:last]]

    @cached_property
    def _begun(self) -> dict[str, list[tuple[int, Mapping[str, Any]]]]:
        """Connections by link, each with the ns of its first packet."""
        begun: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
        for connection in self.evidence.connections:
            if (
                self.chain.hops[0].is_between(connection)
                and connection["client_first_ns"] is not None
            ):
                at_ns = connection["client_first_ns"] - self.evidence.link["started_ns"]
                begun.setdefault(connection["link"], []).append((at_ns, connection))
        return {link: sorted(known, key=itemgetter(0)) for link, known in begun.items()}

    @cached_property
    def _validated(self) -> list[tuple[int, str]]:
        """When the client reports a path as validated, with its own address there."""
        events = self.evidence.reports[self.chain.client].path_events
        return sorted(
            (event.at_ns - self.observed.zero_ns, hops.address(event.local))
            for event in events
            if event.kind == "validated"
        )

    @cached_property
    def _delivered_ns(self) -> dict[str, list[int]]:
        """The middle of each bin: its packets arrived within half a millisecond of it."""
        return {
            link: [bin_ * BIN_NS + BIN_NS // 2 for bin_ in sorted(bins)]
            for link, bins in self.observed.deliveries.items()
        }

    @cached_property
    def _cumulated(self) -> dict[str, tuple[int, ...]]:
        """Bytes delivered before each bin of a link, and before the end."""
        return {
            link: tuple(accumulate((bins[bin_] for bin_ in sorted(bins)), initial=0))
            for link, bins in self.observed.deliveries.items()
        }


def done_ns(
    hop: NetworkHop, evidence: AttemptEvidence, handovers: HandoverEvidence, size: int = 0
) -> int:
    """Return when the client's request was over, or else when the client was ended.

    In ns since the emulator's start. ``hop`` is the client's. The end of a process is known later
    than its last packet.
    """
    done = evidence.client is not None and evidence.client.clean
    if not done or not hop.near(evidence.connections):
        return handovers.ended_ns
    return client_requests.request_ended_ns(hop, evidence, size) - int(evidence.link["started_ns"])


def observed(
    handover: Handover | None, chain: Chain, evidence: AttemptEvidence
) -> ObservedHandovers | None:
    """Gather the hand-overs of an attempt; None where there are none."""
    own = evidence.of(HandoverEvidence)
    if handover is None or own is None:
        return None
    return ObservedHandovers(handover, chain, evidence, own)


def observations(handovers: ObservedHandovers) -> Iterator[Observation]:
    """Yield the metrics of hand-overs; of kind "none", only silence and stall."""
    yield from handovers.gaps()
    yield from handovers.delays()
    if handovers.handover.happens and not handovers.judged:
        return  # a 0 would claim that a hand-over had been followed
    yield from _migrations(handovers.chain, handovers.evidence)
    yield from _fetched_twice(handovers.chain, handovers.evidence)


def _per_handover(
    metric: str, values: Sequence[float | None], source: Source
) -> Iterator[Observation]:
    """Yield the value of each hand-over, where there are several, and the worst where all have one.

    A value that never came was longer than any: without it the worst would be too good.
    """
    if 1 < len(values) <= MAX_ITEMS:
        for number, value in enumerate(values, start=1):
            if value is not None:
                item = f"hand-over {number}"
                yield Observation(metric=metric, value=value, source=source, item=item)
    known = [value for value in values if value is not None]
    if known and len(known) == len(values):
        yield Observation(metric=metric, value=max(known), source=source)


def _migrations(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    if (report := evidence.reports[chain.client].migrations) is not None:
        yield Observation(metric="migrations", value=report.tried, source="client")
        yield Observation(metric="migrations_failed", value=report.failed, source="client")


def _fetched_twice(chain: Chain, evidence: AttemptEvidence) -> Iterator[Observation]:
    """Yield the bytes that the client received more than once, by its own report."""
    sizes = [request.body_bytes for request in evidence.reports[chain.client].requests]
    known = [size for size in sizes if size is not None]
    if sizes and len(known) == len(sizes) and evidence.client and evidence.client.clean:
        beyond = max(0, sum(known) - chain.workload.body_bytes())
        yield Observation(metric="bytes_fetched_twice", value=beyond, source="client")
