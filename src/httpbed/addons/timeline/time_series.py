"""Throughput, round trips, bytes in flight and queue of a trial over time.

All four come from the packets that the emulator saw, at the vantage points of the trial
(:mod:`~httpbed.experiment.bodies_path`). So they are the same quantities for TCP and QUIC, and
for programs that report nothing. They count all packets of a link, those of competitors included.

- Throughput: bytes of IP packets that leave the client's links.
- Round trip: from a packet's arrival at the narrowest link until the first packet that the client
  sends after its delivery has come back to the link, and the delays between link and sender. It
  includes the time that the client takes.
- In flight: bytes that entered the narrowest link, less those that are answered. A dropped packet
  counts until a later one is answered. Unknown for a client that changes its link, because nothing
  answers on a link that was left.
- Queue: the mean time that packets waited on the narrowest link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from httpbed.base.value import Value
from httpbed.experiment import bodies_path
from httpbed.experiment.kept import LINK_RESULT
from httpbed.results.sample import BITS, scenario
from httpbed.store import attempts
from httpbed.store.results import Results


class LinkTimeline(Value):
    """One direction of a link; a value for each bin, from the start of the counting on."""

    bin_ns: int
    sent_bytes: list[int]
    """Bytes of IP packets that entered the link."""
    delivered_bytes: list[int]
    """Bytes of those that left it."""
    answered_bytes: list[int]
    """Bytes that are no longer in flight."""
    dropped_packets: list[int]
    queue_us: list[int | None]
    """Mean time in the queue; None where no packet left."""
    rtt_us: list[int | None]
    """Mean round-trip time; None where no packet was answered."""

    @model_validator(mode="after")
    def _has_columns_of_one_length(self) -> LinkTimeline:
        if len({len(column) for column in vars(self).values() if isinstance(column, list)}) > 1:
            msg = "its columns differ in length"
            raise ValueError(msg)
        return self


@dataclass(frozen=True)
class LinkTimelines:
    """The timelines of a trial."""

    directions: tuple[LinkTimeline | None, ...]
    """Two for each link; None for a direction that is not watched."""
    origin_ns: int
    """The client's first packet, in ns since the start of the counting."""

    def direction(self, link: int, direction: int) -> LinkTimeline | None:
        """Return the timeline of one direction."""
        place = 2 * link + direction
        return self.directions[place] if place < len(self.directions) else None


def read_timelines(text: str) -> LinkTimelines | None:
    """Read the timelines in a result's text; None without any.

    Raises:
        ValueError: It is no result of the emulator.
    """
    result: Any = json.loads(text) if text else {}
    try:
        found = [one.get("timeline") for one in result["directions"]]
        directions = [None if one is None else LinkTimeline.model_validate(one) for one in found]
        times = [one["client_first_ns"] for one in result["connections"]]
        first = min((time for time in times if time is not None), default=result["started_ns"])
        origin_ns = int(first - result["started_ns"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"is no result of the emulator: {error}") from None
    return LinkTimelines(tuple(directions), origin_ns) if any(directions) else None


Floats = NDArray[np.float64]
Column = tuple[LinkTimeline, Sequence[int | None], Sequence[int]]
"""A timeline, mean times in us of its bins, and the bytes that they are means over."""

LONG_GAP_BINS = 12
"""Bins without a packet that end a line; a sender may pause for a round trip without one."""
MAX_THROUGHPUT_BINS = 64
"""The most bins of a download; shorter bins would show single packets."""


@dataclass(frozen=True)
class Series:
    """Values over time; NaN where nothing was observed."""

    times_s: Floats
    """Seconds since the client's first packet."""
    values: Floats

    def joined(self) -> Series:
        """Leave out bins without a value, except in a long gap, which stays one."""
        known = np.flatnonzero(np.isfinite(self.values))
        after = known[1:][np.diff(known) > LONG_GAP_BINS]
        kept = np.union1d(known, after - 1).astype(np.int64)
        return Series(self.times_s[kept], self.values[kept])

    @property
    def largest(self) -> float:
        """The largest value; 0 without any."""
        return float(np.nanmax(self.values)) if np.isfinite(self.values).any() else 0.0

    @property
    def median(self) -> float:
        """The median of the values; NaN without any."""
        known = self.values[np.isfinite(self.values)]
        return float(np.median(known)) if known.size else float("nan")


@dataclass(frozen=True)
class TimeSeries:
    """One attempt over time."""

    block: int
    trial: str
    levels: Mapping[str, str]
    outcome: str
    throughput_bit_s: Series
    rtt_s: Series
    in_flight_bytes: Series
    queue_s: Series
    drops_s: Floats
    """When the narrowest link dropped packets: the middles of those bins."""


def read(results: Results, row: Mapping[str, Any]) -> TimeSeries | None:
    """Read one attempt's series; None if its record is missing, empty or damaged."""
    folder = results.artifact_folder(row)
    if results.artifacts.altered(row, LINK_RESULT):
        return None
    try:
        timelines = read_timelines(attempts.artifact_text(folder / LINK_RESULT))
    except ValueError:
        return None
    levels = results.levels(row)
    points = bodies_path.vantage_points(scenario(results, levels))
    receiver, narrow = (
        [one for place in places if timelines and (one := timelines.direction(*place))]
        for places in (points.receiver, points.narrow)
    )
    if timelines is None or not (receiver and narrow):
        return None
    if not any(timeline.sent_bytes for timeline in (*receiver, *narrow)):  # nothing crossed a link
        return None
    origin_s = timelines.origin_ns / 1e9
    queue = _means(
        [(timeline, timeline.queue_us, timeline.delivered_bytes) for timeline in narrow], origin_s
    )
    rtt = _means(
        [(timeline, timeline.rtt_us, timeline.answered_bytes) for timeline in narrow], origin_s
    )
    return TimeSeries(
        block=row["block"],
        trial=row["trial"],
        levels=levels,
        outcome=row["outcome"],
        throughput_bit_s=_throughput(receiver, origin_s),
        rtt_s=replace(rtt, values=rtt.values + points.before_s),
        in_flight_bytes=_in_flight(narrow, origin_s),
        queue_s=queue,
        drops_s=_drops(narrow, origin_s),
    )


def _throughput(receivers: Sequence[LinkTimeline], origin_s: float) -> Series:
    """Add up the bytes of all links, in bins as long as those of the longest timeline."""
    bin_ns, bins = _grid(receivers)
    longer = max(1, -(-bins // MAX_THROUGHPUT_BINS))
    bin_ns, bins = bin_ns * longer, -(-bins // longer)
    total = sum(
        (_summed(receiver, receiver.delivered_bytes, bin_ns, bins) for receiver in receivers),
        np.zeros(bins),
    )
    return Series(_middles(bin_ns, bins, origin_s), total * BITS / (bin_ns / 1e9))


def _grid(timelines: Sequence[LinkTimeline]) -> tuple[int, int]:
    """Return length and number of the bins that all timelines fit into: the longest ones."""
    bin_ns = max(timeline.bin_ns for timeline in timelines)
    return bin_ns, -(
        -max(len(timeline.sent_bytes) * timeline.bin_ns for timeline in timelines) // bin_ns
    )


def _summed(timeline: LinkTimeline, values: Sequence[float], bin_ns: int, bins: int) -> Floats:
    """Add up values in longer bins; their length is a multiple of the timeline's."""
    places = np.arange(len(values)) // (bin_ns // timeline.bin_ns)
    return np.bincount(places, values, bins).astype(np.float64)


def _means(columns: Sequence[Column], origin_s: float) -> Series:
    """Average times over all links, each weighted by its bytes."""
    bin_ns, bins = _grid([timeline for timeline, _, _ in columns])
    total, weight = np.zeros(bins), np.zeros(bins)
    for timeline, values_us, sizes in columns:
        known = [0 if one is None else size for one, size in zip(values_us, sizes, strict=True)]
        products = [(one or 0) * size for one, size in zip(values_us, known, strict=True)]
        total += _summed(timeline, products, bin_ns, bins)
        weight += _summed(timeline, known, bin_ns, bins)
    means = np.divide(total, weight, out=np.full(bins, np.nan), where=weight > 0)
    return Series(_middles(bin_ns, bins, origin_s), means / 1e6)


def _drops(timelines: Sequence[LinkTimeline], origin_s: float) -> Floats:
    bin_ns, bins = _grid(timelines)
    dropped = sum(
        (_summed(timeline, timeline.dropped_packets, bin_ns, bins) for timeline in timelines),
        np.zeros(bins),
    )
    return _middles(bin_ns, bins, origin_s)[dropped > 0]


def _in_flight(timelines: Sequence[LinkTimeline], origin_s: float) -> Series:
    """Return what is in flight at the end of each bin; nothing for several links."""
    timeline, *others = timelines
    if others:
        return Series(np.zeros(0), np.zeros(0))
    sent, answered = np.array(timeline.sent_bytes), np.array(timeline.answered_bytes)
    ends = _middles(timeline.bin_ns, sent.size, origin_s) + timeline.bin_ns / 2e9
    return Series(ends, np.cumsum(sent - answered).astype(float))


def _middles(bin_ns: int, bins: int, origin_s: float) -> Floats:
    return np.asarray((np.arange(bins) + 0.5) * bin_ns / 1e9 - origin_s)
