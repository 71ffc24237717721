"""Bytes in flight, and the window of each round trip; the theory is in the package's own words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from httpbed.analysis.sender.packets import Floats, Numbers, Packets

DUPLICATES = 3
"""Later packets that must have arrived before a missing one counts as lost."""
PROBE_ROUND_TRIPS = 3.0
"""After so many the sender asks again, of a packet after which nothing more arrived."""


@dataclass(frozen=True)
class Round:
    """A round trip: from a packet's entry to its echo."""

    begin_s: float
    end_s: float
    window: float
    """Most in flight, in full packets."""

    @property
    def lasts_s(self) -> float:
        """Seconds from the packet to its echo."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Flight:
    """A sender's packets with the times at which it could know what became of them.

    Times are in seconds since the sender's first packet.
    """

    packets: Packets
    known_s: Floats
    """When the sender could know of each packet."""
    full_bytes: int
    rtt_s: float
    """The least time from a packet to its echo."""
    request_delay_s: float = 0.0
    """How long before the sender's first packet the receiver's first one was."""

    @cached_property
    def in_flight(self) -> Floats:
        """Full packets in flight just after each packet was sent."""
        sizes, sent = self.packets.bytes, self.packets.sent_s
        order = np.argsort(self.known_s, kind="stable")
        known_bytes = np.concatenate(([0], np.cumsum(sizes[order])))
        done = known_bytes[np.searchsorted(self.known_s[order], sent, side="right")]
        return (np.cumsum(sizes) - done) / self.full_bytes

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds, one after the other."""
        sent, found = self.packets.sent_s, []
        arrived = np.flatnonzero(~self.packets.lost)
        index = int(arrived[0]) if len(arrived) else len(sent)
        while index < len(sent):
            begin, end = float(sent[index]), float(self.known_s[index])
            if not np.isfinite(end):
                break
            following = max(index + 1, int(np.searchsorted(sent, end)))
            window = float(self.in_flight[index:following].max())
            found.append(Round(begin, end, window))
            later = np.searchsorted(arrived, following)
            index = int(arrived[later]) if later < len(arrived) else len(sent)
        return tuple(found)

    @property
    def largest_window(self) -> float:
        """Most full packets that were ever in flight."""
        return float(self.in_flight.max())

    def most_between(self, begin_s: float, end_s: float) -> float | None:
        """Most full packets in flight in an interval; None when nothing was sent in it."""
        sent = self.packets.sent_s
        part = self.in_flight[np.searchsorted(sent, begin_s) : np.searchsorted(sent, end_s)]
        return float(part.max()) if len(part) else None

    def round_trip_s(self, place: int) -> float:
        """Seconds from entry to echo of the last packet before this one that was delivered."""
        arrived = np.flatnonzero(~self.packets.lost[:place])
        if not len(arrived):
            return self.rtt_s
        return float((self.known_s - self.packets.sent_s)[arrived[-1]])

    def delivered_bytes(self, begin_s: float, end_s: float) -> int:
        """Bytes of IP packets that left the emulator in an interval."""
        left = self.packets.left_s
        return int(self.packets.bytes[(left >= begin_s) & (left < end_s)].sum())

    @property
    def lasts_s(self) -> float:
        """Seconds until its last packet was sent."""
        return float(self.packets.sent_s[-1])


def flight(sender: Packets, receiver: Packets) -> Flight:
    """Follow what ``sender`` sent, with the help of what ``receiver`` answered.

    Raises:
        ValueError: No packet was sent, or none was answered.
    """
    echo = _echoes(sender, receiver)
    answered = np.isfinite(echo)
    if not answered.any():
        raise ValueError("no packet of the sender was answered")
    rtt_s = float((echo - sender.sent_s)[answered].min())
    known = np.where(sender.lost, _missed(sender, echo, rtt_s), echo)
    start = float(sender.sent_s[0])
    moved = Packets(sender.sent_s - start, sender.left_s - start, sender.bytes, sender.number)
    request_delay_s = max(0.0, start - float(receiver.sent_s[0]))
    return Flight(moved, known - start, sender.full_bytes(), rtt_s, request_delay_s)


def _echoes(sender: Packets, receiver: Packets) -> Floats:
    """When the receiver's first word after each delivery reached the sender; NaN, or never."""
    answers = np.flatnonzero(~receiver.lost)
    came, heard = receiver.sent_s[answers], receiver.left_s[answers]
    # An answer may be overtaken: what a later one told is known from the earlier arrival on.
    heard = np.minimum.accumulate(heard[::-1])[::-1] if len(heard) else heard
    first: Numbers = np.searchsorted(came, sender.left_s, side="left")
    times = np.append(heard, np.inf)[np.minimum(first, len(heard))]
    return np.where(sender.lost, np.nan, times)


def _missed(sender: Packets, echo: Floats, rtt_s: float) -> Floats:
    """When the sender could take each packet for lost, if it was."""
    arrived = np.flatnonzero(~sender.lost)
    behind = np.searchsorted(arrived, np.arange(len(sender))) + DUPLICATES - 1
    texts = np.append(echo[arrived], np.inf)[np.minimum(behind, len(arrived))]
    probe = sender.sent_s + PROBE_ROUND_TRIPS * rtt_s
    return np.where(np.isfinite(texts), texts, probe)
