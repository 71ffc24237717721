"""What the windows say: the first flight, doubling, back-off, growth, what holds a window down.

Each question has its own network, and looks only at the part of a transfer that answers it. What
cannot be seen is None, never a guess.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from httpbed.analysis.sender import models
from httpbed.analysis.sender.flight import Flight, Round

HANDSHAKE_BYTES = 4500
"""A first flight with more is data: a server may send three times what the client's first packet
of 1,200 to 1,500 bytes had (RFC 9000, section 8.1), and the test bed's certificate is small."""
ACK_BYTES = 150
"""A packet that is not larger holds only acknowledgements, which no window counts."""
HELD_ROUNDS = 15
HELD_SPREAD = 0.03
"""A window that moves less in so many rounds is held: Reno's grows by a packet in each."""
NEARLY_FULL = 0.95
"""Of the bandwidth-delay product: so much in flight fills the pipe."""
CYCLE_ROUNDS = 8
"""BBR's gain cycle (Cardwell et al., BBR, ACM Queue 14(5), 2016)."""
RECOVERY_ROUNDS = 1


@dataclass(frozen=True)
class Pipe:
    """What the network can hold, in full packets."""

    rate_pps: float
    """Full packets per second at the bottleneck."""
    rtt_s: float
    queue_packets: float
    """What may wait at the bottleneck."""

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product."""
        return self.rate_pps * self.rtt_s


@dataclass(frozen=True)
class Backoff:
    """A window around one loss, in full packets."""

    lost_s: float
    """When the sender could know of the loss."""
    before: float
    """Most in flight in the round trip before that."""
    after: float
    """Most in flight in the round trip after the recovery."""

    @property
    def ratio(self) -> float:
        """What was left of the window."""
        return self.after / self.before


def first_flight(flight: Flight) -> int | None:
    """Packets that the sender sent on its own account before it heard of any of them."""
    data = _first_data_round(flight)
    if data is None:
        return None
    first, last = np.searchsorted(flight.packets.sent_s, [data.begin_s, data.end_s])
    return int(np.count_nonzero(flight.packets.bytes[first:last] > ACK_BYTES))


def packets_before_data(flight: Flight) -> int:
    """Packets of the handshake: what was sent before the first flight of data, but for ACKs."""
    data = _first_data_round(flight)
    if data is None:
        return 0
    before = flight.packets.bytes[: np.searchsorted(flight.packets.sent_s, data.begin_s)]
    return int(np.count_nonzero(before > ACK_BYTES))


def growth_at_start(flight: Flight, up_to: float) -> float | None:
    """Median factor by which the window grows per round, before any loss and below ``up_to``."""
    data, lost_s = _first_data_round(flight), _first_loss_s(flight)
    if data is None:
        return None
    rounds = [one for one in flight.rounds if one.begin_s >= data.end_s and one.end_s <= lost_s]
    below = until(rounds, up_to)
    factors = [later.window / one.window for one, later in itertools.pairwise(below)]
    return float(np.median(factors)) if factors else None


def backoff(flight: Flight, number: int, *, cycle: int = RECOVERY_ROUNDS) -> Backoff | None:
    """Look at the window around the loss of the packet with this number.

    A control whose window goes in cycles is looked at over ``cycle`` rounds on either side.
    """
    places = np.flatnonzero((flight.packets.number == number) & flight.packets.lost)
    if not len(places):
        return None
    place = int(places[0])
    known_s, around_s = float(flight.known_s[place]), flight.round_trip_s(place)
    before = flight.most_between(known_s - cycle * around_s, known_s)
    # A round trip goes by in which the loss is repaired; the window is what it settles at then.
    again_s = known_s + around_s
    after = flight.most_between(again_s, again_s + cycle * around_s)
    if before is None or after is None or again_s + cycle * around_s > flight.lasts_s:
        return None
    return Backoff(known_s, before, after)


def rounds_between(flight: Flight, begin_s: float, end_s: float) -> list[Round]:
    """Rounds that lie wholly in an interval."""
    return [one for one in flight.rounds if one.begin_s >= begin_s and one.end_s <= end_s]


def growth_per_round(rounds: Sequence[Round]) -> float | None:
    """Packets by which the window grows per round: the slope of the straight line through them."""
    if len(rounds) < HELD_ROUNDS:
        return None
    return float(np.polyfit(range(len(rounds)), [one.window for one in rounds], 1)[0])


def off_cubic(rounds: Sequence[Round], loss: Backoff) -> float | None:
    """Deviation of the windows after a loss from CUBIC's curve, as a share of it: 9 of 10 rounds.

    The curve begins when the recovery is over, at the window that the loss left, and passes what
    it then was before: when a loss ends slow start, the window grew until it was known, faster
    than can be seen. In its Reno-friendly region RFC 9438 goes on faster from there on, and older
    implementations, Linux among them, do not: the nearer of both curves counts.
    """
    if len(rounds) < HELD_ROUNDS:
        return None
    begin_s, rtt_s = rounds[0].begin_s, float(np.median([one.lasts_s for one in rounds]))
    before = loss.after / models.CUBIC_BETA
    windows, since_s = (np.array(column) for column in _columns(rounds, begin_s))
    curves = (
        [models.cubic_window(s, before, loss.after, rtt_s, faster=faster) for s in since_s]
        for faster in (False, True)
    )
    return min(float(np.quantile(np.abs(windows / curve - 1), 0.9)) for curve in curves)


def _columns(rounds: Sequence[Round], begin_s: float) -> tuple[list[float], list[float]]:
    """Return the windows of rounds, and when they began."""
    return [one.window for one in rounds], [one.begin_s - begin_s for one in rounds]


def held_at(flight: Flight, pipe: Pipe) -> float | None:
    """Packets at which something other than congestion control holds the window down, if so.

    Nothing was lost, the pipe was not full, and yet the window stayed where it was until the end
    or the first loss. One that stays at the bandwidth-delay product may be BBR's, which belongs
    there.
    """
    rounds = rounds_between(flight, 0.0, _first_loss_s(flight))
    last = [one.window for one in rounds[-HELD_ROUNDS - 1 : -1]]
    if len(last) < HELD_ROUNDS or max(last) - min(last) > HELD_SPREAD * max(last):
        return None
    is_full = max(one.window for one in rounds) > NEARLY_FULL * pipe.bdp
    return None if is_full else float(np.median(last))


def steady_pps(flight: Flight, begin_s: float) -> float:
    """Throughput, with retransmissions: full packets delivered per second from ``begin_s`` on."""
    lasts_s = flight.lasts_s - begin_s
    return flight.delivered_bytes(begin_s, flight.lasts_s) / flight.full_bytes / lasts_s


def slope(losses: Sequence[float], rates: Sequence[float]) -> float:
    """Slope of throughput against loss, both as logarithms."""
    return float(np.polyfit(np.log(losses), np.log(rates), 1)[0])


def _first_data_round(flight: Flight) -> Round | None:
    sent, sizes = flight.packets.sent_s, flight.packets.bytes
    for one in flight.rounds:
        first, last = np.searchsorted(sent, one.begin_s), np.searchsorted(sent, one.end_s)
        if sizes[first:last].sum() > HANDSHAKE_BYTES:
            return one
    return None


def _first_loss_s(flight: Flight) -> float:
    lost = np.flatnonzero(flight.packets.lost)
    return float(flight.packets.sent_s[lost[0]]) if len(lost) else flight.lasts_s


def until(rounds: Sequence[Round], up_to: float) -> list[Round]:
    """Take the rounds before the first whose window is larger."""
    large = (index for index, one in enumerate(rounds) if one.window > up_to)
    return list(rounds[: next(large, len(rounds))])
