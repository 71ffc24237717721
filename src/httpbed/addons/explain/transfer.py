"""One connection's packets in both directions, as its sender, the link and its receiver had them.

Every time is in ns since the client's first packet, as an integer, so that a division of the time
adds up exactly. ``sent`` is when a packet left its host, ``entered`` and ``done`` are when the
narrowest link of the path got it and had carried its last bit, ``arrived`` is when it reached the
other host. A dropped packet has -1 for the last two.

The link is a server with one queue. It begins a packet when the packet has entered and the one
before is done, so it is busy from ``begun`` to ``done``. Where a direction has a constant delay,
``done`` is the departure less that delay, for any rate, traces and buckets included. With jitter or
reordering the departures say less, and ``done`` follows from the rate.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from httpbed.experiment.workload import Sender, other_end
from httpbed.store import packet_log

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

Span = tuple[int, int]
"""When something began and ended, in ns."""

Protocol = Literal["tcp", "quic"]

BehindProxy = Literal["set-up", "under way", "held back"]
"""A connection is set up; data of a server is on its way to the proxy; the proxy has data of TCP
behind a hole. Where several hold, the last one explains most."""

NS = 1_000_000_000
"""In a second."""
FAR = 1 << 61
"""A time or a limit that nothing reaches."""
MAX_PACKETS = 300_000
"""Of a connection that others recorded; about 300 MB of data."""


def small_bytes(protocol: Protocol) -> int:
    """Return the payload up to which a packet may carry acknowledgements alone."""
    return 0 if protocol == "tcp" else 100


@dataclass(frozen=True)
class Columns:
    """Packets as equally long columns, one row for each."""

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.__annotations__))))

    def where(self, chosen: Flags | Numbers) -> Self:
        """Return the chosen packets."""
        return type(self)(**{name: getattr(self, name)[chosen] for name in self.__annotations__})


@dataclass(frozen=True)
class Sent(Columns):
    """Packets of one direction of a connection, in the order of their entry."""

    sent: Numbers
    entered: Numbers
    begun: Numbers
    """When the link began to carry it; -1 for a dropped one."""
    done: Numbers
    arrived: Numbers
    payload: Numbers
    """Behind the TCP or UDP header."""
    first: Numbers
    """TCP: number of its first byte, from 0 at the SYN; QUIC: 0."""
    acknowledged: Numbers
    """TCP: number of the next byte that its sender expects; QUIC: 0."""
    edge: Numbers
    """Number of the first byte that its sender does not yet accept; 0 where that is not seen."""
    end: Numbers
    """Number behind the last byte that counts against the other's ``edge``; 0 where not seen."""

    @property
    def lost(self) -> Flags:
        """Which packets were dropped."""
        return self.arrived < 0


@dataclass(frozen=True)
class NetworkPath:
    """What lies between the hosts, towards the receiver."""

    rate_bit_s: int | None
    """Of the narrowest link; None without a constant one."""
    round_trip_ns: int
    """Both delays of all links."""

    @property
    def product_bytes(self) -> int | None:
        """Bytes of IP packets that fill the path without a queue: rate times round trip."""
        if self.rate_bit_s is None:
            return None
        return self.rate_bit_s * self.round_trip_ns // 8_000_000_000


@dataclass(frozen=True)
class Transfer:
    """A connection, and what else the link carried meanwhile."""

    protocol: Protocol
    data: Sent
    """From the sender of the bodies."""
    answers: Sent
    """From their receiver."""
    others: tuple[Numbers, Numbers]
    """When the link began and finished packets of other connections."""
    path: NetworkPath
    body_bytes: int
    """Of all bodies; 0: unknown."""
    reaction_ns: int
    """Longest time between a cause at a host and the packet that follows from it."""
    sender: Sender = "server"
    """The end that sends the bodies."""
    ended: int = 0
    """When the request was over."""
    request: int | None = None
    """When the client's part of the handshake was over and its request left; None: never."""
    is_over: bool = True
    """Whether it ended by itself: not by the time limit, and the client had all."""
    others_are_own: bool = False
    """Whether the other packets are of the same client."""
    remarks: tuple[str, ...] = field(default_factory=tuple)
    """What was left out."""
    is_inferred: bool = False
    """Whether what the link did is inferred from what one side saw."""
    has_credit: bool = False
    """Whether ``edge`` and ``end`` are known over QUIC, by its frames."""
    blocked: Mapping[str, int] = field(default_factory=dict)
    """How many frames of each name the sender has sent by which it says that it is blocked."""
    has_small_answers: bool = False
    """Whether the first answer of many may be smaller than a packet, as a page's document."""
    hidden: frozenset[str] = frozenset()
    """Causes that the evidence cannot tell from each other; their time is unknown."""
    behind_proxy: Mapping[BehindProxy, Sequence[Span]] = field(default_factory=dict)
    """When the connections to the servers of a proxy that sends the bodies did something."""

    @property
    def receiver(self) -> Sender:
        """The other end."""
        return other_end(self.sender)

    @property
    def turned(self) -> Self:
        """The same packets with the receiver as the sender."""
        return replace(self, data=self.answers, answers=self.data, sender=self.receiver)

    @property
    def of_client(self) -> Sent:
        """The client's packets."""
        return self.data if self.sender == "client" else self.answers

    @cached_property
    def content(self) -> Sent:
        """The sender's packets that carry data, and not only an acknowledgement."""
        return self.data.where(self.data.payload > self.small)

    @property
    def small(self) -> int:
        """Payload up to which a packet may carry acknowledgements alone."""
        return small_bytes(self.protocol)

    @cached_property
    def full(self) -> int:
        """Payload of a full packet of the sender."""
        return max(1, packet_log.full_size(self.data.payload))

    @cached_property
    def repeated(self) -> Flags:
        """Which packets of TCP bring nothing new: all of their bytes had arrived before."""
        data = self.data
        repeated = np.zeros(len(data), dtype=bool)
        if self.protocol != "tcp":
            return repeated
        ends = data.first + data.payload
        highest = np.maximum.accumulate(np.concatenate([[0], ends[:-1]])) if len(ends) else ends
        again = np.flatnonzero((data.payload > 0) & (ends <= highest) & ~data.lost)
        for index in again.tolist():
            earlier = slice(0, index)
            same = (
                (data.first[earlier] <= data.first[index])
                & (ends[earlier] >= ends[index])
                & (data.arrived[earlier] >= 0)
                & (data.arrived[earlier] < data.arrived[index])
            )
            repeated[index] = bool(same.any())
        return repeated

    @cached_property
    def held_back_ns(self) -> int | None:
        """For how many ns the receiver had data behind a hole; None where nothing shows it.

        This is head-of-line blocking. TCP gives its reader bytes in order, so a hole holds back all
        later bytes, whichever stream of HTTP/2 they are of (RFC 9114, section 2). Numbers and drops
        show it. The time of a whole transfer is the same with and without it, so it is no cause but
        a reading beside the division: it delays what depends on single streams. QUIC holds back the
        streams of a lost packet alone, and hides which.
        """
        if self.protocol != "tcp":
            return None
        return sum(max(0, end - begin) for begin, end in held_back(self.content, self.ended))


def held_back(data: Sent, ended: int) -> Iterator[Span]:
    """Yield when the receiver of TCP's data had some behind a hole, in order."""
    came = np.flatnonzero(~data.lost)
    order = came[np.argsort(data.arrived[came], kind="stable")]
    rows = np.stack([data.first, data.end, data.arrived], axis=1)[order].tolist()
    expected = min((first for first, _, _ in rows), default=0)
    behind, since = list[Span](), 0
    for first, end, time_ns in rows:
        if first > expected:
            since = since if behind else time_ns
            heapq.heappush(behind, (first, end))
            continue
        expected = max(expected, end)
        while behind and behind[0][0] <= expected:
            expected = max(expected, heapq.heappop(behind)[1])
            if not behind:
                yield since, time_ns
    if behind:
        yield since, ended


def merged(starts: Numbers, ends: Numbers) -> Iterator[Span]:
    """Yield the union of intervals, in order."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    if not len(starts):
        return
    cuts = np.flatnonzero(starts[1:] > ends[:-1]) + 1
    for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(starts)], strict=True):
        yield int(starts[begin]), int(ends[end - 1])
