"""Throughput, round trips, bytes in flight and queue of a trial over time.

All four come from the packets that the emulator saw, at the vantage points of the trial
(:mod:`~httpbed.experiment.vantage_points`). So they are the same quantities for TCP and QUIC, and
for programs that report nothing. They count all packets of a link, those of competitors included.

- Throughput: bytes of IP packets that leave the client's links.
- Round trip: from a packet's arrival at the sender's link until the first packet that the other
  side sends after its delivery has come back. It includes the time that the other side takes.
- In flight: bytes that the sender has sent, less those that are answered. A dropped packet counts
  until a later one is answered.
- Queue: the mean time that packets waited on the narrowest link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from httpbed.analysis.sample import BITS, scenario
from httpbed.experiment import vantage_points
from httpbed.store import artifacts, layout, link_timelines
from httpbed.store.link_timelines import LINK_RESULT, LinkTimeline
from httpbed.store.results import Results

Floats = NDArray[np.float64]

LONG_GAP_BINS = 12
"""Bins without a packet that end a line; a sender may pause for a round trip without one."""
MOST_THROUGHPUT_BINS = 64
"""Of a download; shorter bins would show single packets."""


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
    """When the sender's link dropped packets: the middles of those bins."""


def read(results: Results, row: Mapping[str, Any]) -> TimeSeries | None:
    """Read one attempt's series; None if it has none, or if its record is damaged."""
    folder = layout.artifacts(results.directory, row["block"], row["trial"], row["attempt"])
    if results.artifacts.altered(row, LINK_RESULT):
        return None
    try:
        found = link_timelines.read(artifacts.text(folder / LINK_RESULT))
    except ValueError:
        return None
    levels = {name: row[name] for name in results.experiment.factors}
    points = vantage_points.of(scenario(results, levels))
    receivers = [found.of(*place) for place in points.receiver] if found else []
    queue = found.of(*points.queue) if found else None
    sender = found.of(*points.sender) if found else None
    if found is None or queue is None or sender is None or None in receivers:
        return None
    origin_s = found.origin_ns / 1e9
    return TimeSeries(
        block=row["block"],
        trial=row["trial"],
        levels=levels,
        outcome=row["outcome"],
        throughput_bit_s=_throughput([one for one in receivers if one], origin_s),
        rtt_s=_means(sender, sender.rtt_us, origin_s),
        in_flight_bytes=_in_flight(sender, origin_s),
        queue_s=_means(queue, queue.queue_us, origin_s),
        drops_s=_middles(sender.bin_ns, len(sender.sent_bytes), origin_s)[
            np.array(sender.dropped_packets) > 0
        ],
    )


def _throughput(receivers: Sequence[LinkTimeline], origin_s: float) -> Series:
    """Add up the bytes of all links, in bins as long as those of the longest timeline."""
    bin_ns = max(one.bin_ns for one in receivers)
    longest = max(len(one.delivered_bytes) * one.bin_ns for one in receivers)
    bins = -(-longest // bin_ns)
    bin_ns *= max(1, -(-bins // MOST_THROUGHPUT_BINS))
    bins = -(-longest // bin_ns)
    total = sum((_binned(one, bin_ns, bins) for one in receivers), np.zeros(bins))
    return Series(_middles(bin_ns, bins, origin_s), total * BITS / (bin_ns / 1e9))


def _binned(timeline: LinkTimeline, bin_ns: int, bins: int) -> Floats:
    """Return the delivered bytes in longer bins; their length is a multiple of the timeline's."""
    places = np.arange(len(timeline.delivered_bytes)) // (bin_ns // timeline.bin_ns)
    return np.bincount(places, timeline.delivered_bytes, bins).astype(np.float64)


def _means(timeline: LinkTimeline, values_us: Iterable[int | None], origin_s: float) -> Series:
    values = np.array([np.nan if one is None else one / 1e6 for one in values_us])
    return Series(_middles(timeline.bin_ns, values.size, origin_s), values)


def _in_flight(timeline: LinkTimeline, origin_s: float) -> Series:
    """Return what is in flight at the end of each bin."""
    sent, answered = np.array(timeline.sent_bytes), np.array(timeline.answered_bytes)
    ends = _middles(timeline.bin_ns, sent.size, origin_s) + timeline.bin_ns / 2e9
    return Series(ends, np.cumsum(sent - answered).astype(float))


def _middles(bin_ns: int, bins: int, origin_s: float) -> Floats:
    return np.asarray((np.arange(bins) + 0.5) * bin_ns / 1e9 - origin_s)
