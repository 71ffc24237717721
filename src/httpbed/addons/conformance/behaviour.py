"""Properties of a sender's windows: first flight, growth at the start, back-off, growth, limits.

Each property is measured in a network of its own, and in the part of the transfer that shows it.
A property that the transfer does not show is None.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.addons.conformance.flight import Flight, Round
from httpbed.results import throughput_models as models

HANDSHAKE_BYTES = 4500
"""A flight of more bytes contains data. A handshake has fewer: before validation a server may send
three times the client's first 1,200 to 1,500 bytes (RFC 9000, section 8.1), and the test bed's
certificate is small."""
INITIAL_PACKETS, INITIAL_BYTES = 10, 14_720
"""An initial window is ten packets, at most this many bytes of UDP (RFC 9002, section 7.2;
RFC 6928 has 120 less). Smaller packets are judged by the bytes alone. Tickets, probes of the path's
MTU and packets whose keys are discarded are sent beside the data, and are not told from it: they
widened flights of 10 packets of 1,200 bytes to 12 and 13."""
UDP_BYTES = 28
"""Headers of UDP and IPv4."""
LEAST_DATAGRAM = 1200
"""Every path of QUIC carries datagrams of so many bytes (RFC 9000, section 14)."""
ACK_BYTES = 150
"""A packet of at most this size holds only acknowledgements, which no window counts."""
HELD_ROUNDS = 15
HELD_SPREAD = 0.03
"""A window is held if its range over ``HELD_ROUNDS`` rounds is at most this share of it; Reno's
grows by one packet per round."""
NEARLY_FULL = 0.95
"""Share of the bandwidth-delay product that fills the pipe."""
CYCLE_ROUNDS = 8
"""BBR's gain cycle (Cardwell et al., BBR, ACM Queue 14(5), 2016)."""
RECOVERY_ROUNDS = 1


@dataclass(frozen=True)
class Pipe:
    """Capacity of a path, in full packets."""

    rate_pps: float
    """Full packets per second at the bottleneck."""
    rtt_s: float
    queue_packets: float
    """Limit of the queue at the bottleneck."""

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product."""
        return self.rate_pps * self.rtt_s

    @property
    def holds(self) -> float:
        """What path and queue hold together."""
        return self.bdp + self.queue_packets


@dataclass(frozen=True)
class Backoff:
    """A window around one loss, in full packets."""

    lost_s: float
    """When the sender could know that the packet was lost."""
    before: float
    """Most in flight in the round trip before that."""
    after: float
    """Most in flight in the round trip after the recovery."""

    @property
    def ratio(self) -> float:
        """The window after the loss divided by the window before it."""
        return self.after / self.before


def first_flight(flight: Flight) -> int | None:
    """Number of data packets in the first flight, that is before its echo; None without data."""
    data = _first_data(flight)
    return None if data is None else int(np.count_nonzero(flight.packets.bytes[data] > ACK_BYTES))


def largest_first_flight(flight: Flight) -> int:
    """Number of data packets that the initial window allows, and one for each packet before them.

    Those are the handshake's. Their acknowledgements enlarged the window.
    """
    data = _first_data(flight)
    if data is None:
        return INITIAL_PACKETS
    before, sizes = flight.packets.bytes[: data.start], flight.packets.bytes[data]
    larger = sizes[sizes > ACK_BYTES]
    usual = int(np.median(larger)) - UDP_BYTES if larger.size else 0
    # Many small packets beside full ones must not raise the number of full ones.
    allowed = max(INITIAL_PACKETS, INITIAL_BYTES // max(usual, LEAST_DATAGRAM))
    return allowed + int(np.count_nonzero(before > ACK_BYTES))


def growth_at_start(flight: Flight, up_to: float) -> float | None:
    """Median factor by which the window grows per round, before any loss and below ``up_to``."""
    data, lost_s = _first_data_round(flight), _first_loss_s(flight)
    if data is None:
        return None
    below = until(rounds_between(flight, data.end_s, lost_s), up_to)
    factors = [later.window / earlier.window for earlier, later in itertools.pairwise(below)]
    return float(np.median(factors)) if factors else None


def backoff(flight: Flight, number: int, *, cycle: int = RECOVERY_ROUNDS) -> Backoff | None:
    """Return the window before and after the loss of the packet with this number.

    Each side covers ``cycle`` rounds, because some controls vary their window in cycles. None if
    the packet was not lost, or the transfer ends too early.
    """
    places = np.flatnonzero((flight.packets.number == number) & flight.packets.lost)
    if not len(places):
        return None
    place = int(places[0])
    known_s, around_s = float(flight.known_s[place]), flight.round_trip_s(place)
    before = flight.most_between(known_s - cycle * around_s, known_s)
    # The sender recovers for one round trip; its window is settled after that.
    again_s = known_s + around_s
    after = flight.most_between(again_s, again_s + cycle * around_s)
    if before is None or after is None or again_s + cycle * around_s > flight.lasts_s:
        return None
    return Backoff(known_s, before, after)


def rounds_between(flight: Flight, begin_s: float, end_s: float) -> list[Round]:
    """Return the rounds that lie wholly in an interval."""
    return [one for one in flight.rounds if one.begin_s >= begin_s and one.end_s <= end_s]


def growth_per_round(rounds: Sequence[Round]) -> float | None:
    """Packets by which the window grows per round: the slope of the straight line through them."""
    if len(rounds) < HELD_ROUNDS:
        return None
    return float(np.polyfit(range(len(rounds)), [one.window for one in rounds], 1)[0])


def off_cubic(rounds: Sequence[Round], loss: Backoff) -> float | None:
    """Relative deviation of the windows after a loss from CUBIC's curve: its 90th percentile.

    The curve begins after the recovery, at the window that the loss left. The window before the
    loss is computed from that and CUBIC's beta, because in slow start the window still grows until
    the sender knows of the loss. Beyond that window, RFC 9438 grows faster in its Reno-friendly
    region, and RFC 8312 (Linux) does not; the nearer curve counts.
    """
    if len(rounds) < HELD_ROUNDS:
        return None
    begin_s, rtt_s = rounds[0].begin_s, float(np.median([one.lasts_s for one in rounds]))
    before = loss.after / models.CUBIC_BETA
    windows = np.array([one.window for one in rounds])
    since_s = [one.begin_s - begin_s for one in rounds]
    curves = (
        [models.cubic_window(s, before, loss.after, rtt_s, faster=faster) for s in since_s]
        for faster in (False, True)
    )
    return min(float(np.quantile(np.abs(windows / curve - 1), 0.9)) for curve in curves)


def held_at(flight: Flight, pipe: Pipe) -> float | None:
    """Window in packets at which flow control or a buffer holds the sender; None if nothing does.

    A held window is constant until the first loss or the end, and the pipe is not full. A constant
    window near the bandwidth-delay product is normal for BBR, and so not held.
    """
    rounds = rounds_between(flight, 0.0, _first_loss_s(flight))
    last = [one.window for one in rounds[-HELD_ROUNDS - 1 : -1]]
    if len(last) < HELD_ROUNDS or max(last) - min(last) > HELD_SPREAD * max(last):
        return None
    is_full = max(one.window for one in rounds) > NEARLY_FULL * pipe.bdp
    return None if is_full else float(np.median(last))


def steady_pps(flight: Flight, begin_s: float) -> float:
    """Full packets delivered per second from ``begin_s`` on, retransmissions included."""
    lasts_s = flight.lasts_s - begin_s
    return flight.delivered_bytes(begin_s, flight.lasts_s) / flight.full_bytes / lasts_s


def slope(losses: Sequence[float], rates: Sequence[float]) -> float:
    """Slope of the logarithm of throughput against the logarithm of loss."""
    return float(np.polyfit(np.log(losses), np.log(rates), 1)[0])


def _first_data_round(flight: Flight) -> Round | None:
    sent, sizes = flight.packets.sent_s, flight.packets.bytes
    for candidate in flight.rounds:
        first, last = np.searchsorted(sent, [candidate.begin_s, candidate.end_s])
        if sizes[first:last].sum() > HANDSHAKE_BYTES:
            return candidate
    return None


def _first_data(flight: Flight) -> slice | None:
    """Return the places of the packets in the first round with data; None without data."""
    data = _first_data_round(flight)
    if data is None:
        return None
    first, last = np.searchsorted(flight.packets.sent_s, [data.begin_s, data.end_s])
    return slice(int(first), int(last))


def _first_loss_s(flight: Flight) -> float:
    lost = np.flatnonzero(flight.packets.lost)
    return float(flight.packets.sent_s[lost[0]]) if len(lost) else flight.lasts_s


def until(rounds: Sequence[Round], up_to: float) -> list[Round]:
    """Return the rounds before the first one whose window exceeds ``up_to``."""
    large = (index for index, one in enumerate(rounds) if one.window > up_to)
    return list(rounds[: next(large, len(rounds))])
