"""Divides the time of a transfer from its timeline, where no packets were kept: coarser, for free.

The emulator keeps what a link carried in at most 256 bins, for every trial (decision 27). From them
follows when the link was busy, to the byte, and how many bytes were in flight. So the busy time is
that of the packets; what an idle time was spent on is read from bytes in flight alone, bin by bin:

1. a packet was dropped within a round trip before: *recovery*; nothing was sent since: *timeout*;
2. at most a packet in flight: the sender, which is *server* or, of an upload, *client*;
3. bytes in flight stand at one number for several round trips without loss: *fixed window* if a
   program has a window of that size, else *unknown*, because a sender that paces does the same;
4. they grow before any loss: *slow start*;
5. else *congestion window*.

Late acknowledgements, pacing, repeated bytes and the CPU are not told apart from these. Where bins
are longer than a round trip, as in transfers of minutes, a slow start is too short to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.explain import evidence, windows
from httpbed.addons.explain.evidence import NoTransferError
from httpbed.addons.explain.explanation import Divided, Held, place_of
from httpbed.addons.explain.periods import Division, Period, joined
from httpbed.addons.explain.rounds import Plateau
from httpbed.addons.explain.transfer import NS
from httpbed.experiment.bodies_path import VantagePoints, vantage_points
from httpbed.experiment.impairments.rate import TokenBucket
from httpbed.experiment.kept import LINK_RESULT
from httpbed.experiment.scenario import Scenario
from httpbed.experiment.workload import Sender, other_end
from httpbed.programs.catalog import Catalog
from httpbed.results import attempts
from httpbed.results.sample import of_trials, scenario
from httpbed.store.results import Results

BITS = 8
FULL_BYTES = 1500
"""Of an IP packet."""
PAYLOAD = 0.965
"""Payload of a full IP packet's bytes: between TCP's with timestamps and QUIC's."""
FIRST_PACKETS = 3
"""Full packets that begin an answer, as in a division of packets."""
PLATEAU_ROUNDS = 8
PLATEAU_SHARE = 0.15
"""Range of mean bytes in flight within a plateau, as a share of them."""
STEADY_BINS, STEADY_ROUNDS = 8, 4
GROWS, GROWS_STEADILY = 1.15, 1.05
"""Growth in a round trip from which on the window grows as in slow start."""
FULL_SHARE = 0.97
MAX_BINS = 100_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outline(Divided):
    """A trial that is divided by its timeline."""


def outline(results: Results, row: Mapping[str, Any], catalog: Catalog) -> Outline | None:
    """Divide an attempt of a campaign by its timeline; None if that cannot be done."""
    if results.artifacts.altered(row, LINK_RESULT):
        return None
    place = place_of(results, row)
    request_s = attempts.value_of(row, of_trials(results, "request_time"))
    try:
        division, held = read(
            results.artifact_folder(row), scenario(results, place.levels), request_s, catalog
        )
    except NoTransferError:
        return None
    return Outline(**vars(place), outcome=row["outcome"], division=division, held=held)


def read(
    artifacts: Path, described: Scenario, request_s: float | None, catalog: Catalog
) -> tuple[Division, Held | None]:
    """Divide an attempt by its timeline.

    :raises NoTransferError: when it has none, or no rule covers it.
    """
    if reason := evidence.refusal(described):
        raise NoTransferError(reason)
    bins = bins_of(evidence.json_object(artifacts / LINK_RESULT), described, request_s)
    held = bins.held(described, catalog)
    cause = "fixed window" if held and held.of else "unknown"
    periods = tuple(joined(bins.periods(cause)))
    return Division(periods, periods, None), held if held and held.of else None


def bins_of(result: Mapping[str, Any], described: Scenario, request_s: float | None) -> Bins:
    """Return the timeline of the bodies' direction on the narrowest link.

    :raises NoTransferError: when there is none, or it shows more than the client's connections.
    """
    if described.competitors:
        raise NoTransferError("its timeline counts the packets of competitors, too")
    watched = vantage_points(described)
    (narrow, way), *more = watched.narrow
    direction = described.topology.links[narrow].directions()[way]
    if more or not isinstance(direction.rate, int | TokenBucket):
        raise NoTransferError("its narrowest link has no constant rate")
    try:
        bins = Bins.of(result, described, watched, request_s)
        near = [place for place in watched.receiver if place != (narrow, way)]
        lost = [_lost(result, *place, bins) for place in near]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise NoTransferError("its timeline is missing or damaged") from None
    return replace(bins, dropped=sum(lost, bins.dropped))


def _lost(result: Mapping[str, Any], link: int, way: int, bins: Bins) -> Floats:
    """Return sums of the packets that another link of the bodies dropped, up to the same edges."""
    timeline = result["directions"][2 * link + way]["timeline"]
    counts = _sums(timeline["dropped_packets"], len(timeline["dropped_packets"]))
    edges = bins.edges[0] + float(timeline["bin_ns"]) * np.arange(len(counts))
    return np.interp(bins.edges, edges, counts).astype(np.float64)


@dataclass(frozen=True)
class Bins:
    """A direction over time, in ns since the client's first packet and bytes of IP packets."""

    edges: Floats
    """One more than bins."""
    sent: Floats
    """Sums up to each edge, as all that follow."""
    carried: Floats
    """What the link had finished: deliveries less the link's delay."""
    answered: Floats
    waited: Floats
    """Of answered bytes, each times its round trip in ns."""
    dropped: Floats
    """On this link and the receiver's own."""
    rate_bit_s: float
    round_trip: float
    before: float
    """The way from the sender to the link."""
    request: float
    ended: float
    sender: Sender
    origin: int
    """The client's first packet, in ns on the emulator's clock."""

    @classmethod
    def of(
        cls,
        result: Mapping[str, Any],
        described: Scenario,
        watched: VantagePoints,
        request_s: float | None,
    ) -> Bins:
        """Read the narrowest link's direction; ``request_s`` is when the bodies were over.

        An answer that passes that link has yet to reach the sender, and what it prompts comes as
        much later again. So until then the bytes count as in flight.
        """
        ((narrow, way),) = watched.narrow
        before = watched.before_s * NS
        link_direction = result["directions"][2 * narrow + way]
        near = evidence.of_client(result, described)
        main = evidence.main_connection(near, described)
        origin = min(int(one["client_first_ns"]) for one in near)
        timeline = link_direction["timeline"]
        width, count = int(timeline["bin_ns"]), len(timeline["sent_bytes"])
        if not 0 < count <= MAX_BINS or width <= 0:
            raise ValueError
        edges: Floats = np.arange(count + 1, dtype=np.float64) * float(width) - (
            origin - int(result["started_ns"])
        )
        sums = {name: _sums(timeline[f"{name}"], count) for name in COLUMNS}
        direction = described.topology.links[narrow].directions()[way]
        delivered, answered = sums["delivered_bytes"], sums["answered_bytes"]
        waited = _sums(_products(timeline), count) + before * answered
        answered, waited = (np.interp(edges - before, edges, one) for one in (answered, waited))
        last = max(main["client_last_ns"] or 0, main["server_last_ns"] or 0) - origin
        return cls(
            edges,
            sums["sent_bytes"],
            np.interp(edges + direction.delay * NS, edges, delivered).astype(np.float64),
            answered,
            waited,
            sums["dropped_packets"],
            float(direction.mean_bit_s() or 0),
            described.rtt_s(described.access()) * NS,
            before / 2,
            float((main["handshake_ns"] or main["client_first_ns"]) - origin),
            float(last if request_s is None else round(request_s * NS)),
            described.workload.sender,
            origin,
        )

    def _at(self, sums: Floats, at: float) -> float:
        return float(np.interp(at, self.edges, sums))

    def _within(self, sums: Floats, begin: float, end: float) -> float:
        return self._at(sums, end) - self._at(sums, begin)

    def idle_ns(self, begin: float, end: float) -> float:
        """Return for how long the link carried nothing between two times."""
        bits = self._within(self.carried, begin, end) * BITS
        return max(0.0, end - begin - bits * NS / self.rate_bit_s)

    def round_trip_ns(self, begin: float, end: float) -> float:
        """Return the mean round trip of the bytes that were answered between two times."""
        answered = self._within(self.answered, begin, end)
        return self._within(self.waited, begin, end) / answered if answered else self.round_trip

    def drops(self, begin: float, end: float) -> bool:
        """Whether the link dropped packets between two times, or just before."""
        return self._within(self.dropped, begin - self.round_trip, end) > 0

    @cached_property
    def _answer(self) -> tuple[float, float] | None:
        """When the answer's data begins and ends to enter the link."""
        before = self._at(self.sent, self.request)
        whole = self._at(self.sent, self.ended) - before
        if whole <= 0:
            return None
        first = min(FIRST_PACKETS * FULL_BYTES, whole / 2)
        begun = int(np.searchsorted(self.sent, before + first))
        done = int(np.searchsorted(self.carried, self._at(self.carried, self.ended) - 1))
        begin = max(float(self.edges[max(0, begun - 1)]), self.request)
        return begin, min(max(begin, float(self.edges[done])), self.ended)

    def periods(self, standing: str) -> Iterator[Period]:
        """Yield the periods, without gaps; ``standing``: what it is if bytes in flight stand."""
        request = min(max(0.0, self.request), self.ended)
        yield _period(0, request, "set-up")
        if self._answer is None:
            yield _period(request, self.ended, "unknown")
            return
        begin, end = self._answer
        # An upload waits for a round trip at its end, and before it for one or for none.
        trips = 1.0 if self.sender == "client" else 0.5
        heard = min(begin, request + trips * self.round_trip)
        left = max(heard, begin - self.before)
        yield _period(request, heard, "path")
        yield _period(heard, left, self.sender)
        yield _period(left, begin, "path")
        divided_to = begin
        for place in range(len(self.edges) - 1):
            low, high = max(begin, self.edges[place]), min(end, self.edges[place + 1])
            if high <= low:
                continue
            busy = high - low - self.idle_ns(low, high)
            yield _period(low, low + busy, "link")
            yield _period(low + busy, high, self._idle(place, standing))
            divided_to = high
        arrived = min(self.ended, divided_to + trips * self.round_trip - self.before)
        yield _period(divided_to, arrived, "path")
        yield _period(arrived, self.ended, other_end(self.sender))

    def _mean_in_flight(self, lasts: float) -> Floats:
        """Return mean bytes in flight in a time before each edge.

        By Little's law: the rate of answers times their round trip.
        """
        before = np.interp(self.edges - lasts, self.edges, self.waited, left=0.0)
        found: Floats = (self.waited - before) / lasts
        return found

    @cached_property
    def _in_flight(self) -> Floats:
        """Mean bytes in flight in about a round trip before each edge."""
        return self._mean_in_flight(max(2 * self._width, self._cycle))

    @cached_property
    def _steady(self) -> tuple[Floats, int]:
        """The same over whole round trips, and over how many bins: it stands while a window does.

        Shorter means swing, because bins cut round trips in two.
        """
        rounds = max(STEADY_ROUNDS, int(STEADY_BINS * self._width / self._cycle))
        lasts = min(rounds * self._cycle, self.edges[-1] - self.edges[0])
        return self._mean_in_flight(lasts), int(lasts / self._width)

    @property
    def _width(self) -> float:
        return float(self.edges[1] - self.edges[0])

    @property
    def _cycle(self) -> float:
        """Mean round trip of all bytes."""
        answered = float(self.answered[-1])
        return max(self.round_trip, float(self.waited[-1]) / answered if answered else 0.0, 1.0)

    @cached_property
    def _span(self) -> int:
        """Bins of a round trip, at least one."""
        return max(1, int(self.round_trip / (self.edges[1] - self.edges[0]) + 0.5))

    def _drops(self, low: int, high: int) -> bool:
        return bool(self.dropped[min(high, len(self.dropped) - 1)] > self.dropped[max(0, low)])

    def _idle(self, place: int, standing: str) -> str:
        if self._drops(self._last_sent[place] - self._span, place + 1):
            is_quiet = place - self._last_sent[place] >= self._span
            return "timeout" if is_quiet else "recovery"
        if self.sent[place + 1] - self.answered[place + 1] <= FULL_BYTES:
            return self.sender
        if self._in_plateau[place]:
            return standing
        is_first = not self._drops(0, place + 1)
        return "slow start" if is_first and self._grows(place + 1) else "congestion window"

    @cached_property
    def _last_sent(self) -> list[int]:
        """The last bin up to each in which something was sent."""
        bins = np.arange(len(self.sent) - 1)
        found: list[int] = np.maximum.accumulate(np.where(np.diff(self.sent) > 0, bins, 0)).tolist()
        return found

    def _grows(self, edge: int) -> bool:
        """Whether bytes in flight grew in the last round trip, and not only because bins swing."""
        before = max(0, edge - self._span)
        means = (self._in_flight, GROWS), (self._steady[0], GROWS_STEADILY)
        return all(bool(mean[edge] >= least * mean[before]) for mean, least in means)

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """Runs of edges at which bytes in flight stand, while the link has time left."""
        if self._answer is None:
            return []
        flying, count = self._steady
        begin, end = np.searchsorted(self.edges, self._answer).tolist()
        # Before, a mean reaches back beyond the first packet.
        begin = max(begin, count)
        last, runs = min(end, len(self.edges) - 1), list[tuple[int, int]]()
        start, high, low = begin, 0.0, 0.0
        for place in range(begin, last + 1):
            now = float(flying[place])
            high, low = max(high, now), min(low, now)
            # Like CUBIC at its last maximum, a window after a loss may stand still for a while.
            is_lossy = self._drops(0, place)
            most = FULL_BYTES + (0.0 if is_lossy else PLATEAU_SHARE) * high
            stands = low > FULL_BYTES and high - low <= most and not self._drops(place - 1, place)
            if stands and place < last:
                continue
            least = PLATEAU_ROUNDS * self._span * (2 if is_lossy else 1)
            stop = place if stands else place - 1
            if stop - start >= least and self._has_time_left(start, stop):
                runs.append((start - count + 1, stop))
            start, high, low = place, now, now
        return runs

    def _has_time_left(self, start: int, stop: int) -> bool:
        begin, end = float(self.edges[start]), float(self.edges[stop])
        return self.idle_ns(begin, end) > (1 - FULL_SHARE) * (end - begin)

    @cached_property
    def _in_plateau(self) -> NDArray[np.bool_]:
        inside = np.zeros(len(self.edges), dtype=bool)
        for start, stop in self._runs:
            inside[start:stop] = True
        return inside

    def held(self, described: Scenario, catalog: Catalog) -> Held | None:
        """Return the window at which bytes in flight stood for longest; None without any."""
        if not self._runs:
            return None
        start, stop = max(self._runs, key=lambda run: run[1] - run[0])
        flying, count = self._steady
        payload = round(float(np.median(flying[start + count - 1 : stop + 1])) * PAYLOAD)
        known = windows.candidates(described, catalog)
        full = round(FULL_BYTES * PAYLOAD)
        named_window = windows.named(payload, full, described.hops()[0].http_version, known)
        span = self.edges[stop] - self.edges[start]
        rounds = round(span / max(1.0, self.round_trip))
        plateau = Plateau(int(self.edges[start]), int(self.edges[stop]), payload, rounds)
        return Held(plateau, named_window, self.fills_bytes)

    @property
    def fills_bytes(self) -> int:
        """Bytes of IP packets that fill the path."""
        return round(self.rate_bit_s * self.round_trip / BITS / NS)


COLUMNS = ("sent_bytes", "delivered_bytes", "answered_bytes", "dropped_packets")


def _products(timeline: Mapping[str, Any]) -> list[float]:
    pairs = zip(timeline["answered_bytes"], timeline["rtt_us"], strict=True)
    return [float(size) * float(rtt or 0) * NS / 1e6 for size, rtt in pairs]


def _sums(values: list[Any], count: int) -> Floats:
    numbers = np.array([float(one) for one in values])
    if len(numbers) != count or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ValueError
    return np.concatenate([[0.0], np.cumsum(numbers)])


def _period(begin: float, end: float, cause: str) -> Period:
    return Period(round(begin), round(end), cause, "inferred")
