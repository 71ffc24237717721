"""Makes a transfer of what one place saw of a connection: a capture at its client, or its server.

# Theory of operation

*Where the place is.* A round trip through it has two parts: to the server and back, and to the
client and back. The client acknowledges at once now and then, so the shortest time from data to the
acknowledgement that covers it is the client's part. The handshake has the server's: from SYN to
SYN-ACK. The shorter part says whose side it is.

*What is missing.* Of the other side only the shortest times are known. Each one-way delay is taken
as half of its round trip; a division has only sums of both.

*At the client* data is seen behind the narrowest link. The gaps between packets are at least their
transmission times, so the highest rate over sixteen packets is the link's. A packet that comes
after a longer gap found the link idle. TCP's timestamps say which acknowledgement the sender had
heard; so a packet that waited in a queue differs from one that was sent late, also if the rate
falls. A hole in the numbers that is filled later than a reordered packet would be is a loss.

*At the server* data is seen before the link, and acknowledgements say when it had passed. The rate
is that of their progress. A retransmission says that the copy before it was lost, unless its
acknowledgement comes too early to be of the later one.

*Not seen*, and said so: losses of QUIC without keys; what a client does after its last
acknowledgement; a lost last packet, at the client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from httpbed.addons.explain.capture import unwrapped
from httpbed.addons.explain.foreign import seen
from httpbed.addons.explain.foreign.seen import (
    NEED_ACKNOWLEDGEMENTS,
    NEED_NUMBERS,
    Half,
    OneSidedError,
    Seen,
)
from httpbed.addons.explain.transfer import (
    FAR,
    NS,
    Flags,
    NetworkPath,
    Numbers,
    Sent,
    Transfer,
    small_bytes,
)

Side = Literal["client", "server"]
RUNS = (16, 8, 4, 2)
"""Packets over which a rate is measured, or as many acknowledgements."""
RUN = 16
"""Packets among which a gap is usual."""
FASTER = 1.3
"""Ratio from which on the rate over fewer packets is taken instead."""
AGREE = 0.01
"""Rates that differ by less are one; a link's own rate is the one on which most packets agree."""
QUEUE_QUANTILE, QUEUED_PACKETS = 0.9, 4
"""A link was full if a tenth of the packets waited behind more than so many others."""
RATE_QUANTILE = 0.95
PACED_SHARE = 0.5
"""Share of the time in which a paced flow would fill a link of its own rate, at least."""
QUEUE_GAPS = 4
"""A packet that waited for longer than so many usual gaps was queued."""
NEAR_NS = 3_000_000
"""Longest way to the client from a place that may be the client's, if nothing else tells."""
MIN_BURSTS = 4
REACTION_NS = 1_000_000
REACTION_SHARE = 0.02
"""Of the round trip; how exact the times of the other side are."""


def transfer(seen: Seen, side: Side | None = None) -> Transfer:
    """Return a transfer; ``side`` says where the place is, if that is known.

    :raises OneSidedError: when nothing can be made of it.
    """
    return _Place(seen, side).transfer()


@dataclass(frozen=True)
class _Place:
    seen: Seen
    said: Side | None

    def transfer(self) -> Transfer:
        if not (self.seen.data.payload > self._small).any():
            raise OneSidedError("its server sent no data")
        data = self._at_client() if self.side == "client" else self._at_server()
        answers = self._answers()
        origin = min(0, int(data.sent.min()), int(answers.sent.min()))
        data, answers = _moved(data, -origin), _moved(answers, -origin)
        content = data.payload > self._small
        request = 0
        if self.seen.request is not None:
            request = max(0, self.seen.request - self.client_part // 2 - origin)
        return Transfer(
            protocol=self.seen.protocol,
            data=data,
            answers=answers,
            others=(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
            path=NetworkPath(self.rate_bit_s, self.round_trip),
            body_bytes=0,
            reaction_ns=self.reaction,
            ended=int(data.arrived[content & self._was_heard()].max()),
            request=request,
            is_over=self.seen.ends,
            remarks=(*self.seen.remarks, *self._remarks()),
            is_inferred=True,
            hidden=self._hidden(),
            has_credit=self.seen.has_credit,
        )

    def _was_heard(self) -> Flags:
        """Return which data was acknowledged, in a server's qlog: it probes a client that left."""
        data = self.seen.data
        heard = self._covered >= 0
        is_servers = self.side == "server" and self.seen.lost is not None
        if not is_servers or not (heard & (data.payload > self._small)).any():
            return np.ones(1, dtype=bool)
        return heard[np.argsort(data.at, kind="stable")]

    def _hidden(self) -> frozenset[str]:
        """Return what cannot be told apart without the numbers of packets."""
        if self.seen.is_numbered:
            return frozenset()
        return NEED_NUMBERS | (NEED_ACKNOWLEDGEMENTS if self.side == "server" else frozenset())

    def _remarks(self) -> Iterator[str]:
        told = "as told" if self.said else "by the shortest times of both parts"
        yield f"captured at the {self.side} ({told})"
        if self.seen.request is None:
            yield "its handshake is not in the file, and what came before is unknown"
        if self.side == "client":
            yield "a lost last packet looks like a server that waits"
        if not self.seen.ends:
            yield "the file ends within the connection"

    @property
    def _small(self) -> int:
        return small_bytes(self.seen.protocol)

    @cached_property
    def reaction(self) -> int:
        """Longest reaction of a host: how exact the times of the other side are."""
        return max(REACTION_NS, round(REACTION_SHARE * self.round_trip))

    # Where the place is

    @cached_property
    def client_part(self) -> int:
        """Shortest round trip from the place to the client."""
        known = [self.seen.handshake[1]] if self.seen.handshake else []
        if self.seen.is_numbered:
            covered = self._covered
            waits = np.where(covered >= 0, self.seen.answers.at[covered] - self.seen.data.at, FAR)
            came = self.seen.data.payload > self._small
            waits = waits[came if self.seen.lost is None else came & ~self.seen.lost]
            known.append(int(waits.min(initial=FAR)))
        return max(0, min(known, default=0) if min(known, default=FAR) < FAR else 0)

    @cached_property
    def server_part(self) -> int:
        """Shortest round trip from the place to the server, as far as it is known."""
        known = [self.seen.handshake[0]] if self.seen.handshake else []
        if len(self._heard_at):
            lags = self.seen.data.at - self._heard_at
            known.append(int(lags[self._heard_at > -FAR].min(initial=FAR)))
        shortest = min(known, default=FAR)
        return self._burst_period if shortest >= FAR else max(0, shortest)

    @cached_property
    def _burst_period(self) -> int:
        """The usual time between bursts of data, at the client; 0 for none.

        A sender that waits for window sends in bursts, a round trip apart.
        """
        data = self.seen.data
        arrivals = data.at[data.payload > self._small]
        if self.client_part > NEAR_NS or len(arrivals) < RUN:
            return 0
        gaps = np.diff(arrivals)
        starts = arrivals[1:][gaps > QUEUE_GAPS * max(1, int(np.median(gaps)))]
        return int(np.median(np.diff(starts))) if len(starts) > MIN_BURSTS else 0

    @cached_property
    def side(self) -> Side:
        """Whose side the place is."""
        if self.said:
            return self.said
        return "client" if self.client_part <= self.server_part else "server"

    @property
    def round_trip(self) -> int:
        """Shortest round trip of the whole path."""
        return max(1, self.client_part + self.server_part)

    @cached_property
    def _covered(self) -> Numbers:
        """The first answer that acknowledges each packet of data and came later; -1 for none."""
        data, answers = self.seen.data, self.seen.answers
        highest = np.maximum.accumulate(answers.acknowledged) if len(answers) else answers.at
        place = np.searchsorted(highest, data.first + data.payload, side="left")
        place = np.maximum(place, np.searchsorted(answers.at, data.at, side="right"))
        return np.where(place < len(answers), np.minimum(place, max(0, len(answers) - 1)), -1)

    @cached_property
    def _heard_at(self) -> Numbers:
        """When the newest answer passed that the server had heard before each packet of data.

        By TCP's timestamps: a packet echoes the newest one; -FAR where none is known.
        """
        data, answers = self.seen.data, self.seen.answers
        if not len(answers) or not (data.echo > 0).any() or not (answers.stamp >= 0).any():
            return np.zeros(0, dtype=np.int64)
        stamps = np.maximum.accumulate(unwrapped(answers.stamp))
        place = np.searchsorted(stamps, data.echo, side="left")
        known = (place < len(answers)) & (data.echo > 0)
        found = np.where(known, answers.at[np.minimum(place, len(answers) - 1)], -FAR)
        return np.where(found <= data.at, found, -FAR)

    # The link

    @cached_property
    def rate_bit_s(self) -> int | None:
        """Rate of the narrowest link; None for a steady flow that never waited in a queue.

        Such a flow is paced by its sender: a link that is full has a queue.
        """
        rate = None if self._is_blind else self._highest_rate
        if rate is None or not len(self._delays):
            return rate
        usual = self.seen.data.bytes.max() * 8 * NS / rate
        times, total = self._progress
        busy = float(total[-1] - total[0]) * 8 * NS / rate / max(1, int(times[-1] - times[0]))
        is_queued = np.quantile(self._delays, QUEUE_QUANTILE) > QUEUED_PACKETS * usual
        return rate if is_queued or busy < PACED_SHARE else None

    @cached_property
    def _highest_rate(self) -> int | None:
        """The highest rate over some packets; None for too few.

        Few packets follow each other where windows are small, and many are more exact: fewer are
        taken where they are much faster, or where more of them agree on a rate that is higher.
        """
        times, total = self._progress
        best, most = 0.0, 0.0
        for run in RUNS:
            if len(times) <= run:
                continue
            spans, sizes = times[run:] - times[:-run], total[run:] - total[:-run]
            rates = sizes[spans > 0] * 8 * NS / spans[spans > 0]
            if not len(rates):
                continue
            found = float(np.quantile(rates, RATE_QUANTILE))
            agree = float(np.mean(np.abs(rates - found) < AGREE * found))
            if found > FASTER * best or (found > (1 + AGREE) * best and agree > most):
                best, most = found, agree
        return int(best) or None

    @cached_property
    def _delays(self) -> Numbers:
        """How much longer than the shortest each round trip is; empty if none is known."""
        data, answers = self.seen.data, self.seen.answers
        if self.side == "client":
            known = self._heard_at[self._heard_at > -FAR]
            if not len(known):
                return np.zeros(0, dtype=np.int64)
            return data.at[self._heard_at > -FAR] - known - self.server_part
        full = (self._covered >= 0) & (data.payload > 0)
        if not self.seen.is_numbered or not full.any():
            return np.zeros(0, dtype=np.int64)
        waits: Numbers = answers.at[self._covered[full]] - data.at[full] - self.client_part
        return waits

    @property
    def _is_blind(self) -> bool:
        """Whether nothing says when data passed the link: at the server, without numbers."""
        return self.side == "server" and not self.seen.is_numbered

    @property
    def _progress(self) -> tuple[Numbers, Numbers]:
        """Times behind the link, and the bytes of IP packets that had passed it by then."""
        data, answers = self.seen.data, self.seen.answers
        if self.side == "client" or not self.seen.is_numbered:
            large = data.payload > self._small
            return data.at[large], np.cumsum(data.bytes[large])
        overhead = data.bytes.sum() / max(1, data.payload.sum())
        highest = np.maximum.accumulate(answers.acknowledged)
        grows = np.flatnonzero(np.diff(highest, prepend=0) > 0)
        return answers.at[grows], np.rint(highest[grows] * overhead).astype(np.int64)

    def _transmission(self, sizes: Numbers) -> Numbers:
        rate = self.rate_bit_s
        return sizes * 8 * NS // rate if rate else np.zeros_like(sizes)

    # Both directions

    def _answers(self) -> Sent:
        answers = self.seen.answers
        left, heard = answers.at - self.client_part // 2, answers.at + self.server_part // 2
        # What follows from another packet comes after it, also if a shortest time is too long.
        if self.side == "client":
            heard = heard - self.reaction // 2
        else:
            left = left + self.reaction // 2
        return Sent(
            sent=left,
            entered=left,
            begun=left,
            done=left,
            arrived=heard,
            payload=answers.payload,
            first=answers.first,
            acknowledged=answers.acknowledged,
            edge=answers.edge,
            end=np.zeros_like(answers.edge),
        )

    def _at_client(self) -> Sent:
        if self.seen.lost is None:
            data, lost = seen.with_lost(self.seen, self.round_trip)
        else:
            data, lost = self.seen.data, self.seen.lost
        before, beyond = self.server_part // 2, self.client_part // 2
        there = np.flatnonzero(~lost)
        arrivals = data.at[there]
        sizes = self._transmission(data.bytes[there])
        gaps = np.diff(arrivals, prepend=arrivals[:1] - sizes[:1] - FAR // 4)
        took, entered = np.minimum(gaps, sizes), arrivals - np.minimum(gaps, sizes)
        if len(self._heard_at):
            heard = self._heard_at  # of the packets that were seen, in their order
            usual = _usual(gaps)
            oldest = np.maximum.accumulate(np.minimum(heard + self.round_trip, arrivals - took))
            queued = (heard > -FAR) & (arrivals - took - oldest > QUEUE_GAPS * usual + REACTION_NS)
            full = queued & (gaps <= QUEUE_GAPS * usual)
            took = np.where(full, gaps, took)
            entered = np.where(full, np.minimum(oldest, arrivals - took), arrivals - took)
            entered = np.maximum.accumulate(entered)
        begun = arrivals - took
        entered = np.minimum(entered, begun)
        none = np.full(len(data), -1, dtype=np.int64)
        full_entered = none.copy()
        full_entered[there] = entered
        # A lost packet was sent just before the packet that showed the hole.
        for place in np.flatnonzero(lost)[::-1].tolist():
            following = full_entered[place + 1] if place + 1 < len(data) else data.at[place]
            full_entered[place] = following
        columns = [none.copy() for _ in range(3)]
        for column, values in zip(columns, (begun, arrivals, arrivals + beyond), strict=True):
            column[there] = values
        begun, done, arrived = columns
        return _sent(data, full_entered - before, (full_entered, begun, done), arrived)

    def _at_server(self) -> Sent:
        data = self.seen.data
        lost = self.seen.lost
        if lost is None:
            lost = seen.at_server(self.seen, self._covered, self.round_trip)
        sizes = self._transmission(data.bytes)
        done = np.full(len(data), -1, dtype=np.int64)
        known = self._passed(sizes, lost)
        latest = self._latest()
        last = -FAR
        begun = done.copy()
        for place in np.flatnonzero(~lost).tolist():
            begun[place] = max(int(data.at[place]), last)
            usual = max(int(begun[place]) + int(sizes[place]), int(known[place]))
            done[place] = max(int(begun[place]), min(usual, int(latest[place])))
            last = int(done[place])
        arrived = np.where(lost, -1, done + self.client_part // 2)
        sent = data.at - self.server_part // 2
        return _sent(data, sent, (data.at, begun, done), arrived)

    def _latest(self) -> Numbers:
        """Return when each packet had passed the link at the latest: it was acknowledged."""
        covered, answers = self._covered, self.seen.answers
        if not self.seen.is_numbered or not len(answers):
            return np.full(len(covered), FAR)
        return np.where(covered >= 0, answers.at[covered] - self.client_part, FAR)

    def _passed(self, sizes: Numbers, lost: Flags) -> Numbers:
        """When acknowledgements say that each packet had passed the link; -FAR for nothing.

        An acknowledgement of two packets or more comes at once. One of a single packet may have
        waited for a timer, unless most are of single ones. An acknowledgement after a repair, or
        after lost ones, does not show when earlier packets had passed.
        """
        data, answers, covered = self.seen.data, self.seen.answers, self._covered
        passed = np.full(len(data), -FAR, dtype=np.int64)
        if not self.seen.is_numbered or not len(answers):
            return passed
        shortest = max(0, self.client_part - int(np.median(sizes)) if len(sizes) else 0)
        groups = np.flatnonzero(np.diff(covered, prepend=-2) != 0)
        ends = [*groups[1:].tolist(), len(data)]
        repairs = set(covered[lost].tolist())
        pairs = [*zip(groups.tolist(), ends, strict=True)]
        delays = 2 * sum(end - begin > 1 for begin, end in pairs) > len(pairs)
        most = 2 * np.median([end - begin for begin, end in pairs]) if pairs else 0
        for begin, end in pairs:
            answer = int(covered[begin])
            if answer < 0 or answer in repairs or (delays and end - begin == 1):
                continue
            if end - begin > most:  # acknowledgements before it were lost
                continue
            # The packets before the last passed before it, one behind the other.
            behind = int(answers.at[answer]) - shortest
            for place in range(end - 1, begin - 1, -1):
                passed[place] = behind
                behind -= int(sizes[place])
        return passed


def _sent(data: Half, sent: Numbers, link: Sequence[Numbers], arrived: Numbers) -> Sent:
    """Return packets; ``link`` has when it got, began and finished each."""
    order = np.argsort(link[0], kind="stable")
    zeros = np.zeros(len(data), dtype=np.int64)
    end = data.edge if data.edge.any() else data.first + data.payload
    entered, begun, done = (one[order] for one in link)
    return Sent(
        sent=sent[order],
        entered=entered,
        begun=begun,
        done=done,
        arrived=arrived[order],
        payload=data.payload[order],
        first=data.first[order],
        acknowledged=zeros,
        edge=zeros,
        end=end[order],
    )


def _moved(packets: Sent, by: int) -> Sent:
    """Return packets with their times moved; -1 stays what it is."""
    names = ("sent", "entered", "begun", "done", "arrived")
    lost = packets.arrived == -1
    moved = {name: getattr(packets, name) + by for name in names}
    for name in ("begun", "done", "arrived"):
        moved[name] = np.where(lost, -1, moved[name])
    return replace(packets, **moved)


def _usual(gaps: Numbers) -> Numbers:
    """Return the median of the gaps around each packet."""
    half = RUN // 2
    padded = np.concatenate([gaps[:1].repeat(half), gaps, gaps[-1:].repeat(half)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    return np.asarray(np.median(windows, axis=1), dtype=np.int64)
