"""A sender's bytes in flight, and its window in each round trip.

The emulator stamps every packet of both directions: when it entered, and when it left or was
dropped. Nothing is decrypted, so the method works for TCP and for any QUIC program.

*Bytes in flight.* A packet is in flight from its entry into the emulator until its sender can know
its fate. The sender of a delivered packet knows it from the packet's **echo**: the first packet
that the receiver sends at or after the delivery and that is itself delivered. The receiver's
delayed acknowledgements are therefore measured, not assumed. A dropped packet is in flight until
the echo of the third delivered packet sent after it (three duplicate acknowledgements, RFC 5681
section 3.2; kPacketThreshold, RFC 9002 section 6.1.1). If fewer follow, it is in flight for three
round trips, about the time of a probe timeout.

*Window.* A sender with enough data keeps its congestion window full. The bytes in flight just after
each packet never exceed the window, and reach it once per round trip. A **round** lasts from a
packet's entry to its echo; its **window** is the largest number in flight in it. If flow control or
a buffer limits the window, it stays constant although nothing is lost and the pipe is not full.

*Units.* Windows are in full packets: bytes of IP packets divided by the size of a full one, which
is the most frequent large size. Times are in seconds since the sender's first packet.

*Delivery.* The times at which the first bytes are delivered decide how long short flows take. Bytes
are those of IP packets that leave the emulator towards the receiver, from the connection's first
packet on, retransmissions included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from httpbed.store import packet_log
from httpbed.store.packet_log import PacketLog

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

DUPLICATES = 3
"""Number of later packets whose delivery makes the sender count a missing packet as lost."""
PROBE_ROUND_TRIPS = 3.0
"""Round trips after which a sender probes, if too few later packets were delivered."""
S_OF_NS = 1e-9


@dataclass(frozen=True)
class Packets:
    """The packets of one direction, in the order in which they were sent."""

    sent_s: Floats
    """When each entered the emulator."""
    left_s: Floats
    """When each left it; NaN for a dropped one."""
    bytes: Numbers
    """Length of each IP packet."""
    number: Numbers
    """Number of each packet in its direction, from 0."""

    def __len__(self) -> int:
        return len(self.sent_s)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Which packets were dropped, for any cause."""
        return np.isnan(self.left_s)

    def waits_s(self, rate_bit_s: float, delay_s: float) -> Floats:
        """How long each waited in the queue of a link of this rate and delay; NaN if dropped."""
        return self.left_s - self.sent_s - delay_s - self.bytes * 8 / rate_bit_s


class NoDataError(ValueError):
    """A packet log is sound, but a sender in it sent no data."""


def load_packets(path: Path, *directions: int) -> list[Packets]:
    """Read some directions of the packet log in a file; times count from the emulator's start.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a packet log, or damaged.
    """
    return packets_of(packet_log.load(path), *directions)


def packets_of(log: PacketLog, *directions: int) -> list[Packets]:
    """Return the packets of some directions of a log.

    Copies are left out: what duplication made says nothing about a sender.
    """
    return [_packets(log.originals(direction)) for direction in directions]


def _packets(log: PacketLog) -> Packets:
    left_s = np.where(log.left, log.out_ns * S_OF_NS, np.nan).astype(np.float64)
    return Packets(np.asarray(log.in_ns * S_OF_NS, dtype=np.float64), left_s, log.bytes, log.number)


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
    """A sender's packets with the times at which it could know their fates.

    Times are in seconds since the sender's first packet.
    """

    packets: Packets
    known_s: Floats
    """When the sender could know each packet's fate."""
    full_bytes: int
    rtt_s: float
    """Shortest time from a packet's entry to its echo."""
    request_delay_s: float = 0.0
    """Seconds from the receiver's first packet to the sender's first packet."""

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
        """All rounds in order; each begins when the previous one ends."""
        sent, begun = self.packets.sent_s, []
        arrived = np.flatnonzero(~self.packets.lost)
        index = int(arrived[0]) if len(arrived) else len(sent)
        while index < len(sent):
            begin, end = float(sent[index]), float(self.known_s[index])
            if not np.isfinite(end):
                break
            following = max(index + 1, int(np.searchsorted(sent, end)))
            window = float(self.in_flight[index:following].max())
            begun.append(Round(begin, end, window))
            later = np.searchsorted(arrived, following)
            index = int(arrived[later]) if later < len(arrived) else len(sent)
        return tuple(begun)

    @cached_property
    def windows(self) -> Floats:
        """The window of each round."""
        return np.array([one.window for one in self.rounds], dtype=np.float64)

    @property
    def largest_window(self) -> float:
        """Largest number of full packets in flight."""
        return float(self.in_flight.max())

    def most_between(self, begin_s: float, end_s: float) -> float | None:
        """Largest number of full packets in flight in an interval; None if nothing was sent."""
        sent = self.packets.sent_s
        part = self.in_flight[np.searchsorted(sent, begin_s) : np.searchsorted(sent, end_s)]
        return float(part.max()) if len(part) else None

    def round_trip_s(self, place: int) -> float:
        """Seconds from entry to echo of the last delivered packet before that at ``place``."""
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
    """Return the flight of ``sender``'s packets, with echoes from ``receiver``'s packets.

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
    return Flight(moved, known - start, packet_log.full_size(sender.bytes), rtt_s, request_delay_s)


def _echoes(sender: Packets, receiver: Packets) -> Floats:
    """When each packet's echo reached the sender; NaN for a lost packet, infinite without echo."""
    answers = np.flatnonzero(~receiver.lost)
    came, heard = receiver.sent_s[answers], receiver.left_s[answers]
    # With reordering, a later answer may arrive first, and acknowledges the same packets.
    heard = np.minimum.accumulate(heard[::-1])[::-1] if len(heard) else heard
    first: Numbers = np.searchsorted(came, sender.left_s, side="left")
    times = np.append(heard, np.inf)[np.minimum(first, len(heard))]
    return np.where(sender.lost, np.nan, times)


def _missed(sender: Packets, echo: Floats, rtt_s: float) -> Floats:
    """When the sender could count each packet as lost, if it was lost."""
    arrived = np.flatnonzero(~sender.lost)
    behind = np.searchsorted(arrived, np.arange(len(sender))) + DUPLICATES - 1
    echoes = np.append(echo[arrived], np.inf)[np.minimum(behind, len(arrived))]
    probe = sender.sent_s + PROBE_ROUND_TRIPS * rtt_s
    return np.where(np.isfinite(echoes), echoes, probe)


def delivery_time_s(flight: Flight, size: int) -> float | None:
    """Seconds from the connection's first packet until ``size`` bytes are delivered, or None."""
    left = flight.packets.left_s
    arrived = np.flatnonzero(~np.isnan(left))
    order = arrived[np.argsort(left[arrived], kind="stable")]
    index = int(np.searchsorted(np.cumsum(flight.packets.bytes[order]), size))
    return float(left[order[index]]) + flight.request_delay_s if index < len(order) else None


def median_delivery_s(flights: Sequence[Flight], size: int) -> float | None:
    """Median of :func:`delivery_time_s`; None if a transfer delivered fewer bytes."""
    times = [delivery_time_s(flight, size) for flight in flights]
    known = [time_s for time_s in times if time_s is not None]
    return median(known) if known and len(known) == len(times) else None
