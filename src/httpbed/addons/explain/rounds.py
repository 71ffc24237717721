"""Round trips of a sender: what it knew, what was in flight, and which window held it.

When the sender knows the fate of a packet is read as the conformance tests read it
(:mod:`~httpbed.addons.conformance.flight`): a delivered packet by its echo, a lost one by the echo
of the third delivered packet after it, or by a timer. A **round** lasts from a packet to its echo,
and its window is the most payload in flight within it.

A **plateau** is a run of rounds whose windows differ by at most a packet, without loss and without
a full link; or by two packets, if it is twice as long: a receiver that acknowledges every second
packet (RFC 5681, 4.2) shows a window that stands still in steps of two. Congestion avoidance grows
by about half a packet to a packet per round (RFC 5681, RFC 9438), so a run that is long enough is
none. CUBIC stands still at its last maximum, but only after a loss: then a plateau has to be twice
as long, and as high as any window of the transfer, because nothing exceeds a fixed one.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from httpbed.addons.conformance.flight import DUPLICATES, Flight, Packets, flight
from httpbed.addons.explain.receiver import Receiver
from httpbed.addons.explain.transfer import FAR, NS, Numbers, Sent, Transfer

PLATEAU_ROUNDS = 4
PLATEAU_ROUNDS_AFTER_LOSS = 8
PLATEAU_PACKETS = {1: 1.05, 2: 2.05}
"""Difference of windows within a plateau, in full packets, by how many times as long it is."""
GROWS = 1.15
"""Ratio of windows of two rounds from which on the window grows as in slow start."""
GROWS_AGAIN = 1.5
"""The same after a loss: of slow start after a timeout."""
PROMPTED_SHARE = 0.5
"""Share of a plateau's packets, or of its waits, that are due to acknowledgements; at a constant
rate, whose flight is constant, too, both are less.

Waits are weighed by their lengths, up to a round trip: a sender with a window may space the packets
of a round trip by a timer.
"""
INITIAL_WINDOW = 10
"""Packets that a sender of TCP may send at first (RFC 6928)."""
INITIAL_WINDOW_BYTES = 12_000
"""The same over QUIC: ten of the smallest full datagrams (RFC 9000 section 14, RFC 9002 section
7.2)."""
PREDECESSORS = 8
PARTIAL = 0.9
"""Share of the usual payload below which a packet is not full."""
FULL_SHARE = 0.97
"""Share of a round in which the link is busy, from which on the link is full."""


@dataclass(frozen=True)
class Plateau:
    """A window at which bytes in flight stand."""

    begin: int
    end: int
    payload: int
    """Median of the rounds' largest payload in flight."""
    rounds: int


class Rounds:
    """What follows from a transfer's packets about its sender."""

    def __init__(self, transfer: Transfer, data: Sent | None = None) -> None:
        self.transfer = transfer
        self.data = transfer.content if data is None else data
        self.answers = transfer.answers
        self.full = transfer.full
        self.receiver = Receiver(transfer)

    @cached_property
    def flight(self) -> Flight:
        """The flight of the sender's packets, with payloads in place of sizes."""
        return flight(_packets(self.data), _packets(self.answers))

    @cached_property
    def _origin(self) -> int:
        return int(self.data.sent[0]) if len(self.data) else 0

    @cached_property
    def known(self) -> Numbers:
        """When the sender could know the fate of each packet; far away if never."""
        seconds = np.where(np.isfinite(self.flight.known_s), self.flight.known_s, 1e8)
        return np.asarray(np.rint(seconds * NS), dtype=np.int64) + self._origin

    @cached_property
    def in_flight(self) -> Numbers:
        """Payload in flight just after each packet."""
        return np.asarray(np.rint(self.flight.in_flight * self.flight.full_bytes), dtype=np.int64)

    @cached_property
    def round_trip_ns(self) -> int:
        """Shortest time from a packet to its echo."""
        return int(self.flight.rtt_s * NS)

    @cached_property
    def table(self) -> tuple[Numbers, Numbers, Numbers]:
        """Beginning, end and window in payload of each round."""
        rows = [(one.begin_s, one.end_s, one.window) for one in self.flight.rounds]
        table = np.array(rows, dtype=np.float64).reshape(-1, 3)
        begins, ends = (np.rint(table[:, place] * NS).astype(np.int64) for place in (0, 1))
        windows = np.rint(table[:, 2] * self.flight.full_bytes).astype(np.int64)
        return begins + self._origin, ends + self._origin, windows

    def _round(self, at: int) -> int:
        begins, _, _ = self.table
        return max(0, int(np.searchsorted(begins, at, side="right")) - 1)

    # What prompted a packet

    @cached_property
    def _heard(self) -> tuple[Numbers, Numbers]:
        """When the receiver's delivered packets reached the sender, in order, and their places."""
        places = np.flatnonzero(~self.answers.lost)
        order = np.argsort(self.answers.arrived[places], kind="stable")
        return self.answers.arrived[places][order], places[order]

    @cached_property
    def prompting(self) -> Numbers:
        """The receiver's packet that prompted each packet of the sender; -1 for none."""
        times, places = self._heard
        sent = self.data.sent
        last = np.searchsorted(times, sent, side="right") - 1
        prompters = np.where(last >= 0, places[np.maximum(last, 0)] if len(places) else -1, -1)
        waited = sent - np.where(last >= 0, times[np.maximum(last, 0)] if len(times) else 0, 0)
        within = (last >= 0) & (waited <= self.transfer.reaction_ns)
        gaps = np.diff(sent, prepend=sent[:1] - NS)
        prompting = np.full(len(sent), -1, dtype=np.int64)
        for index in range(len(sent)):
            if within[index]:
                prompting[index] = prompters[index]
            elif index and gaps[index] <= self.transfer.reaction_ns // 4:
                prompting[index] = prompting[index - 1]
        return prompting

    def is_prompted(self, sent: int) -> bool:
        """Whether a packet of the receiver prompted the packet that was sent at a time."""
        packet = self._sent_at(sent)
        return packet is not None and bool(self.prompting[packet] >= 0)

    def asks(self, packet: int, answer: int) -> bool:
        """Whether a packet of the receiver asks for more.

        A request carries payload, acknowledges nothing new, and comes when nothing is in flight. Of
        many, it may come earlier, or acknowledge all that is left of the one before.
        """
        if not self.receiver.is_request(answer):
            return False
        is_none = self.receiver.is_no_acknowledgement(answer)
        in_flight = self.unknown_before(packet)
        if self.transfer.has_small_answers:
            return is_none or not (in_flight or self._is_full_packet(packet - 1))
        return is_none and not in_flight

    def _is_full_packet(self, packet: int) -> bool:
        return packet >= 0 and bool(self.data.payload[packet] >= PARTIAL * self.full)

    # What the sender knew

    def unknown_before(self, packet: int) -> int:
        """Return the payload whose fate the sender did not know when it sent a packet."""
        times, known = self._known_payload
        return int(self._sent_payload[packet]) - int(
            known[np.searchsorted(times, self.data.sent[packet], side="right")]
        )

    @cached_property
    def _sent_payload(self) -> Numbers:
        """The payload of all packets before each."""
        return np.concatenate([[0], np.cumsum(self.data.payload)])

    @cached_property
    def _known_payload(self) -> tuple[Numbers, Numbers]:
        """When fates were known, in order, and the payload of so many packets."""
        order = np.argsort(self.known, kind="stable")
        sums = np.concatenate([[0], np.cumsum(self.data.payload[order])])
        return self.known[order], sums

    @cached_property
    def _undetected(self) -> Numbers:
        """Until when no later packet proves each packet's loss; -1 for a delivered one."""
        delivered = np.flatnonzero(~self.data.lost)
        behind = np.searchsorted(delivered, np.arange(len(self.data))) + DUPLICATES - 1
        known = np.append(self.known[delivered], 1 << 62)
        return np.where(self.data.lost, known[np.minimum(behind, len(delivered))], -1)

    def timer(self, packet: int) -> str | None:
        """Return the kind of timeout that a packet ended; None if no loss waited for a timer."""
        sent = int(self.data.sent[packet])
        waiting = np.flatnonzero(
            (self._undetected[:packet] >= sent) & (self._unrepaired[:packet] >= sent)
        )
        if not len(waiting):
            return None
        if self._is_repeat[waiting].any():
            return "a retransmission was lost, too"
        return "the tail of a flight was lost"

    @cached_property
    def _unrepaired(self) -> Numbers:
        """When each lost packet had been sent again, as far as that is known."""
        repaired = np.full(len(self.data), 1 << 62, dtype=np.int64)
        if self.transfer.protocol == "tcp":
            ends = self.data.first + self.data.payload
            for place in np.flatnonzero(self.data.lost).tolist():
                later = np.flatnonzero(
                    (self.data.first[place + 1 :] <= self.data.first[place])
                    & (ends[place + 1 :] > self.data.first[place])
                )
                if len(later):
                    repaired[place] = int(self.data.sent[place + 1 + later[0]])
            return repaired
        for place in np.flatnonzero(self.data.lost).tolist():
            later = np.searchsorted(self.data.sent, self.data.sent[place] + self.round_trip_ns)
            if later < len(self.data):
                repaired[place] = int(self.data.sent[later])
        return repaired

    @cached_property
    def _is_repeat(self) -> np.ndarray:
        """Which packets of TCP send bytes again."""
        if self.transfer.protocol != "tcp" or not len(self.data):
            return np.zeros(len(self.data), dtype=bool)
        ends = self.data.first + self.data.payload
        before = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]])
        return np.asarray((self.data.payload > 0) & (self.data.first < before))

    @cached_property
    def recoveries(self) -> list[tuple[int, int]]:
        """When the sender repaired losses: from a first proof to the echo of a later packet."""
        recoveries = list[tuple[int, int]]()
        for place in np.flatnonzero(self.data.lost & (self.data.payload > 0)).tolist():
            proved = int(min(self._undetected[place], self._unrepaired[place]))
            if proved >= 1 << 61 or (recoveries and self.data.sent[place] < recoveries[-1][0]):
                continue
            following = int(np.searchsorted(self.data.sent, proved, side="left"))
            arrived = np.flatnonzero(~self.data.lost[following:])
            end = int(self.known[following + arrived[0]]) if len(arrived) else 1 << 62
            recoveries.append((proved, max(end, proved)))
        return recoveries

    def in_recovery(self, at: int) -> bool:
        """Whether losses of a round trip are being repaired."""
        place = bisect(self.recoveries, (at, 1 << 62)) - 1
        return place >= 0 and self._recovered[place] >= at

    @cached_property
    def _recovered(self) -> list[int]:
        """When all recoveries up to each had ended."""
        return list(itertools.accumulate((end for _, end in self.recoveries), max))

    @property
    def first_loss(self) -> int:
        """When the sender learnt of its first loss; far away without one."""
        return self.recoveries[0][0] if self.recoveries else 1 << 62

    def is_partial(self, packet: int) -> bool:
        """Whether a packet is smaller than its predecessors: the sender's buffer was empty.

        QUIC's full packets grow when the path's MTU is discovered, so it is compared with those
        just before it.
        """
        if packet < 1:
            return False
        before = self.data.payload[max(0, packet - PREDECESSORS) : packet]
        return bool(self.data.payload[packet] < PARTIAL * np.median(before))

    def awaits_portion(self, packet: int) -> bool:
        """Whether this wait of an idle link and the one before it follow packets that are not full.

        So does a sender that gets its next portion of data when an acknowledgement frees a buffer.
        A congestion window seldom ends where a portion does.
        """
        place = bisect(self._awaited, packet - 1)
        before = self._awaited[place - 1] if place else 0
        return self.is_partial(packet - 1) and self.is_partial(before - 1)

    @cached_property
    def _awaited(self) -> list[int]:
        """The packets for which the link was idle."""
        done = np.maximum.accumulate(self.data.done)
        idle = self.data.entered - np.concatenate([self.data.entered[:1], done[:-1]])
        return [int(place) for place in np.flatnonzero(idle > self.transfer.reaction_ns)]

    # Which window held it

    def full_since(self, sent: int) -> int:
        """Return since when the congestion window was full that held a packet; FAR: none held it.

        An acknowledgement prompted the packet, and until then an initial window or more was in
        flight, or a loss was being repaired.
        """
        packet = self._sent_at(sent)
        return FAR if packet is None else self._window_full_since[packet]

    def _sent_at(self, sent: int) -> int | None:
        """Return the first packet with data that was sent at a time; None: there is none."""
        packet = int(np.searchsorted(self.data.sent, sent))
        is_there = packet < len(self.data) and int(self.data.sent[packet]) == sent
        return packet if is_there else None

    @cached_property
    def _window_full_since(self) -> list[int]:
        """Since when the window was full that held each packet; FAR for one that none held."""
        full = list[int]()
        for packet, (sent, answer) in enumerate(zip(self.data.sent, self.prompting, strict=True)):
            if answer < 0:
                full.append(FAR)
                continue
            in_flight = self.known[:packet] >= self.answers.arrived[answer]
            is_repairing = in_flight.any() and self.in_recovery(sent)
            is_full = is_repairing or self._leaves_no_room(in_flight, packet)
            full.append(min(full[-1], int(self.data.sent[packet - 1])) if is_full else FAR)
        return full

    def _leaves_no_room(self, in_flight: np.ndarray, packet: int) -> bool:
        """Whether a packet exceeds an initial window. Linux counts packets, and QUIC bytes."""
        if self.transfer.protocol == "tcp":
            return bool(np.count_nonzero(in_flight) >= INITIAL_WINDOW)
        payload = self.data.payload
        return int(payload[:packet][in_flight].sum() + payload[packet]) > INITIAL_WINDOW_BYTES

    def is_receiver_limited(self, packet: int) -> bool:
        """Whether the advertised window had no room for a full packet before a packet.

        What counts is what the sender had heard when it sent the packet before: acknowledgements
        arrive in bursts, and the first of a burst makes room.
        """
        if not (self.transfer.protocol == "tcp" or self.transfer.has_credit) or not packet:
            return False
        times, _ = self._heard
        count = int(np.searchsorted(times, self.data.sent[packet - 1], side="right"))
        if not count:
            return False
        return int(self._edges[count - 1] - self.receiver.ends[packet - 1]) < self.full

    @cached_property
    def _edges(self) -> Numbers:
        """The right edge of the advertised window after each packet that the sender heard."""
        _, places = self._heard
        return np.maximum.accumulate(self.answers.edge[places])

    def is_growing(self, time_ns: int) -> bool:
        """Whether the window grows from this round to the next, or grew from the last to this."""
        _, _, windows = self.table
        place = self._round(time_ns)
        if time_ns < self.first_loss and place == 0:
            return True
        least = GROWS if time_ns < self.first_loss else GROWS_AGAIN
        pairs = [
            (windows[one], windows[one + 1])
            for one in (place - 1, place)
            if one >= 0 and one + 1 < len(windows)
        ]
        return any(after >= least * before for before, after in pairs)

    @cached_property
    def plateaus(self) -> tuple[Plateau, ...]:
        """Return all plateaus, in order."""
        plateaus, start = list[Plateau](), 0
        while start < len(self.table[0]):
            found = (self._plateau(start, *one) for one in PLATEAU_PACKETS.items())
            plateau = next((one for one in found if one), None)
            start += plateau.rounds if plateau else 1
            plateaus += [plateau] if plateau else []
        return tuple(plateaus)

    def _plateau(self, start: int, times: int, packets: float) -> Plateau | None:
        """Return the plateau that begins with a round; None if its windows stand too shortly."""
        begins, ends, windows = self.table
        stop = start + 1
        while stop < len(windows) and self._stands(start, stop, packets):
            stop += 1
        is_lossy = begins[start] > self.first_loss
        least = times * (PLATEAU_ROUNDS_AFTER_LOSS if is_lossy else PLATEAU_ROUNDS)
        begin, end = int(begins[start]), int(ends[stop - 1])
        if stop - start < least or not self._are_prompted(begin, end):
            return None
        if is_lossy and int(windows.max() - windows[start:stop].max()) > packets * self.full:
            return None
        return Plateau(begin, end, int(np.median(windows[start:stop])), stop - start)

    def _are_prompted(self, begin: int, end: int) -> bool:
        """Whether acknowledgements prompt most packets, or end most of the waits."""
        inside = np.flatnonzero((self.data.sent >= begin) & (self.data.sent <= end))
        is_prompted = self.prompting[inside] >= 0
        waits = np.minimum(np.diff(self.data.sent[inside]), self.round_trip_ns)
        shares = is_prompted.mean(), waits[is_prompted[1:]].sum() / max(1, waits.sum())
        return bool(max(shares) >= PROMPTED_SHARE)

    def _stands(self, start: int, stop: int, packets: float) -> bool:
        begins, ends, windows = self.table
        if int(np.ptp(windows[start : stop + 1])) > packets * self.full:
            return False
        if any(begin < ends[stop] and end > begins[start] for begin, end in self.recoveries):
            return False
        return self._busy_share(int(begins[stop]), int(ends[stop])) < FULL_SHARE

    @cached_property
    def _busy(self) -> tuple[Numbers, Numbers]:
        own = np.flatnonzero(~self.data.lost)
        done = self.data.done[own]
        return done, np.cumsum(done - self.data.begun[own])

    def _busy_share(self, begin: int, end: int) -> float:
        done, total = self._busy
        at = np.interp([begin, end], done, total) if len(done) else [0, 0]
        return float(at[1] - at[0]) / max(1, end - begin)

    def in_plateau(self, at: int) -> bool:
        """Whether the window stands at a number."""
        return any(
            plateau.begin <= at <= plateau.end + self.round_trip_ns for plateau in self.plateaus
        )


def _packets(sent: Sent) -> Packets:
    left = np.where(sent.lost, np.nan, sent.arrived / NS).astype(np.float64)
    return Packets(sent.sent / NS, left, sent.payload, np.arange(len(sent)))
