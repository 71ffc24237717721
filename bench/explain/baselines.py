"""Two published classifiers on the same packets: T-RAT (2002) and Dapper (2017).

Both read TCP headers near the sender and know neither the link nor the programs. They are written
from the papers' descriptions, and not from their code: a wrong answer may be this reading's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from httpbed.addons.explain.transfer import Flags, Numbers, Transfer

INTERVAL = 256
"""Packets after which T-RAT decides again."""
SMALL_TRANSFER = 13
"""Packets below which T-RAT calls a connection limited by its opportunity."""
NEAR = 3
"""Packets by which T-RAT allows two windows to differ."""
EVEN = 2.0
"""Ratio of the 95th to the 5th percentile of gaps up to which T-RAT calls packets even."""
RECEIVER_RUN, SENDER_RUN = 3, 4
"""Flights in a row that T-RAT asks for."""
INITIAL_WINDOW = 10
"""Packets of the congestion window with which Dapper begins."""


@dataclass(frozen=True)
class Flights:
    """The server's packets of data, cut into flights of a round trip."""

    transfer: Transfer

    @cached_property
    def round_trip(self) -> int:
        """The median time from a packet to the acknowledgement that covers it, queues included."""
        data, answers = self.transfer.content, self.transfer.answers
        order, heard = self._heard
        known = np.maximum.accumulate(answers.acknowledged[order])
        place = np.searchsorted(known, data.end)
        covered = place < len(known)
        times = heard[place[covered]] - data.sent[covered]
        return int(np.median(times)) if len(times) else max(1, self.transfer.path.round_trip_ns)

    @cached_property
    def begins(self) -> Numbers:
        """The first packet of each flight: sent a round trip after that of the last, or later."""
        sent, found = self.transfer.content.sent, [0]
        while True:
            following = np.searchsorted(sent, sent[found[-1]] + self.round_trip)
            if following >= len(sent):
                return np.array(found)
            found.append(int(following))

    @cached_property
    def sizes(self) -> Numbers:
        """Packets of each flight."""
        return np.diff(np.append(self.begins, len(self.transfer.content)))

    @cached_property
    def is_repeat(self) -> Flags:
        """Which packets are sent again."""
        data = self.transfer.content
        return data.first < np.maximum.accumulate(np.concatenate([[0], data.end[:-1]]))

    @cached_property
    def repeats(self) -> Numbers:
        """Retransmissions in each flight."""
        return np.add.reduceat(self.is_repeat.astype(np.int64), self.begins)

    @cached_property
    def _heard(self) -> tuple[Numbers, Numbers]:
        """The client's packets that arrived, by their places, and when."""
        arrived = self.transfer.answers.arrived
        order = np.argsort(arrived, kind="stable")
        order = order[arrived[order] >= 0]
        return order, arrived[order]

    @cached_property
    def windows(self) -> Numbers:
        """The advertised window that the sender had heard of at each flight's end, in packets."""
        order, times = self._heard
        last = np.append(self.begins[1:], len(self.transfer.content)) - 1
        heard = np.searchsorted(times, self.transfer.content.sent[last], "right")
        answers = self.transfer.answers
        advertised = (answers.edge - answers.acknowledged)[order]
        return np.asarray(advertised[np.maximum(heard - 1, 0)] // self.transfer.full)

    @cached_property
    def unacknowledged(self) -> Numbers:
        """The most packets in flight within each flight."""
        order, times = self._heard
        data = self.transfer.content
        known = np.maximum.accumulate(self.transfer.answers.acknowledged[order])
        heard = np.searchsorted(times, data.sent, "right")
        waiting = np.maximum.accumulate(data.end) - known[np.maximum(heard - 1, 0)]
        return np.maximum.reduceat(waiting, self.begins) // self.transfer.full


def t_rat(transfer: Transfer) -> str:
    """Return the limit that T-RAT finds for most packets (Zhang et al. 2002, section 3.3)."""
    flights = Flights(transfer)
    votes = Counter[str]()
    for group in _intervals(flights):
        votes[_t_rat(flights, group)] += int(flights.sizes[group].sum())
    return votes.most_common(1)[0][0]


def _intervals(flights: Flights) -> list[slice]:
    found, start, packets = list[slice](), 0, 0
    for place, size in enumerate(flights.sizes.tolist()):
        packets += size
        if packets >= INTERVAL:
            found.append(slice(start, place + 1))
            start, packets = place + 1, 0
    return [*found, slice(start, len(flights.sizes))] if packets or not found else found


def _t_rat(flights: Flights, group: slice) -> str:
    """Return the first limit that holds within an interval."""
    sizes, data = flights.sizes[group], flights.transfer.content
    first = int(flights.begins[group][0])
    packets = slice(first, first + int(sizes.sum()))
    sent, payload = data.sent[packets], data.payload[packets]
    # New data after a small packet and a round trip.
    pauses = (payload[:-1] < flights.transfer.full) & (np.diff(sent) > flights.round_trip)
    pauses &= ~flights.is_repeat[packets][1:]
    lossy = flights.repeats[group] > 0
    grows = sizes[1:] >= 1.5 * sizes[:-1]
    before_losses = sizes[:-1][lossy[1:]]
    usual, large = np.percentile(sizes, 50), np.percentile(sizes, 80)
    stands = (sizes >= large - 2) & (sizes <= large + 1)
    is_whole = len(sizes) == len(flights.sizes) and not lossy.any()
    limits = {
        "opportunity": is_whole and (len(data) < SMALL_TRANSFER or grows[:-1].all()),
        "application": pauses.any(),
        "bandwidth": (len(before_losses) > 1 and np.ptp(before_losses) <= NEAR)
        or (not lossy.any() and _is_even(sent)),
        "congestion": lossy.any(),
        "receiver window": _run(sizes > flights.windows[group] - NEAR) >= RECEIVER_RUN,
        "sender window": large < usual + NEAR and _run(stands) >= SENDER_RUN,
        "transport": 2 * int((sizes[1:] > sizes[:-1]).sum()) > len(sizes) - 1,
    }
    return next((name for name, holds in limits.items() if holds), "unknown")


def _is_even(sent: Numbers) -> bool:
    """Whether pairs are evenly spaced: an acknowledgement of two packets prompts two."""
    gaps = sent[2:] - sent[:-2]
    if not len(gaps):
        return False
    low, high = np.percentile(gaps, 5), np.percentile(gaps, 95)
    return bool(low > 0 and high / low < EVEN)


def _run(flags: np.ndarray) -> int:
    """Return the length of the longest run of True."""
    longest = now = 0
    for flag in flags.tolist():
        now = now + 1 if flag else 0
        longest = max(longest, now)
    return longest


def dapper(transfer: Transfer) -> str:
    """Return what limits most of the time: sender, network or receiver (Ghasemi et al. 2017).

    The congestion window is a lower bound: the most packets in flight since the last loss.
    """
    flights = Flights(transfer)
    lasts = np.diff(np.append(transfer.content.sent[flights.begins], transfer.content.sent[-1]))
    votes, window = Counter[str](), INITIAL_WINDOW
    rows = zip(flights.unacknowledged, flights.repeats, flights.windows, lasts, strict=True)
    for size, repeats, advertised, ns in rows:
        if repeats:
            window = max(int(size), window // 2)
            limit = "network"
        elif size >= advertised - 1:
            limit = "receiver"
        elif size >= window:
            window, limit = int(size), "network"
        else:
            limit = "sender"
        votes[limit] += max(1, int(ns))
    return votes.most_common(1)[0][0]
