"""A sender with a window over one link, computed: what each rule should find is then known."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from httpbed.addons.explain.rounds import Rounds
from httpbed.addons.explain.transfer import NetworkPath, Numbers, Protocol, Sent, Transfer

MS = 1_000_000
SIZE, PAYLOAD = 1500, 1448
RATE = 12_000_000  # a packet takes 1 ms
TRANSMISSION = SIZE * 8 * 1_000_000_000 // RATE
DELAY = 20 * MS
ROUND_TRIP = 2 * DELAY
REQUEST = 2 * ROUND_TRIP
"""The handshake takes two round trips."""
FAR = 1 << 40
ORIGIN = 5_000_000_000
"""Of the emulator's times, on the clock of the hosts."""
TIMER, DATA = -1, -2
"""Events beside the acknowledgement of a packet."""


@dataclass
class WindowSender:
    """Sends ``packets`` full packets, as many as ``window`` allows with so many acknowledged."""

    packets: int
    window: Callable[[int], int]
    protocol: Protocol = "tcp"
    available: Mapping[int, int] = field(default_factory=dict)
    """From when on a packet can be sent, after the request was heard; by its number."""
    lost: Collection[int] = ()
    """Numbers of transmissions that are dropped."""
    ack_delay: int = 0
    advertised: int = FAR
    timeout: int = 300 * MS
    gap: int = 0
    """Least time between two packets: pacing."""

    _sent: list[tuple[int, ...]] = field(default_factory=list)
    _answers: list[tuple[int, ...]] = field(default_factory=list)
    _events: list[tuple[int, int]] = field(default_factory=list)
    _open: set[int] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)
    _missing: list[int] = field(default_factory=list)
    _next = _acked = _busy = 0
    _last = -FAR

    def transfer(self) -> Transfer:
        """Compute the transfer."""
        self._fill(REQUEST + DELAY)
        while self._events:
            at, what = heapq.heappop(self._events)
            if what >= 0:
                self._open.discard(what)
                self._acked += 1
            elif what == TIMER:
                again = self._missing.pop(0)
                self._open.discard(again)
                self._send(at, again)
            self._fill(at)
        return self._made()

    def _fill(self, at: int) -> None:
        while self._next < self.packets and len(self._open) < self.window(self._acked):
            ready = REQUEST + DELAY + self.available.get(self._next, 0)
            free = max(ready, self._last + self.gap)
            if free > at:
                heapq.heappush(self._events, (free, DATA))
                return
            self._next += 1
            self._send(at, self._next - 1)

    def _send(self, at: int, packet: int) -> None:
        self._last = at
        self._open.add(packet)
        first = 1 + packet * PAYLOAD
        if len(self._sent) in self.lost:
            self._sent.append((at, -1, -1, -1, PAYLOAD, first))
            self._missing.append(packet)
            heapq.heappush(self._events, (at + self.timeout, TIMER))
            return
        begun = max(at, self._busy)
        self._busy = begun + TRANSMISSION
        arrived = self._busy + DELAY
        self._sent.append((at, begun, self._busy, arrived, PAYLOAD, first))
        self._seen.add(packet)
        expected = 1 + PAYLOAD * next(one for one in range(FAR) if one not in self._seen)
        left = arrived + self.ack_delay
        self._answers.append((left, left + DELAY, expected, expected + self.advertised))
        heapq.heappush(self._events, (left + DELAY, packet))

    def _made(self) -> Transfer:
        """Return the packets, with the handshake's before them."""
        replies = [(at, at, at, at + DELAY, 0, 0) for at in (DELAY, ROUND_TRIP + DELAY)]
        data = np.array([*replies, *self._sent], dtype=np.int64)
        hello = [(at, at + DELAY, 0, self.advertised) for at in (0, ROUND_TRIP, REQUEST)]
        answers = np.array([*hello, *sorted(self._answers)], dtype=np.int64)
        left, heard, expected, edge = answers.T
        sent, begun, done, arrived, payload, first = data.T
        said = np.zeros_like(left)
        said[1:3] = 200, 300
        none = np.zeros_like
        return Transfer(
            protocol=self.protocol,
            data=Sent(
                sent,
                sent,
                begun,
                done,
                arrived,
                payload,
                first,
                none(sent),
                none(sent),
                first + payload,
            ),
            answers=Sent(
                left,
                left,
                left,
                left,
                heard,
                said,
                none(left),
                expected,
                edge,
                none(left),
            ),
            others=(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
            path=NetworkPath(RATE, ROUND_TRIP),
            body_bytes=self.packets * PAYLOAD,
            reaction_ns=200_000,
            ended=int(arrived.max()) + MS,
            request=REQUEST,
        )


def as_upload(download: Transfer, think: int = 0) -> Transfer:
    """Return a download's packets as an upload's, which the server answers after ``think``.

    The client sends its bodies with the request, one way earlier than a server that is asked.
    """
    first_data, first_answer = 2, 3
    hello, answers = _cut(download.answers, first_answer)
    replies, data = _cut(download.data, first_data)
    replies = replace(replies, edge=hello.edge[:first_data])
    answers, data = (_moved(flow, -DELAY) for flow in (answers, data))
    heard = int(data.arrived.max())
    last = answers.where(np.array([-1]))
    answer = replace(_moved(last, heard + think - int(last.sent[0])), payload=np.array([300]))
    return replace(
        download,
        sender="client",
        data=_joined(hello, data),
        answers=_joined(replies, answers, answer),
        ended=heard + think + DELAY + MS,
    )


def _cut(flow: Sent, count: int) -> tuple[Sent, Sent]:
    return flow.where(np.arange(count)), flow.where(np.arange(count, len(flow)))


def _moved(flow: Sent, by: int) -> Sent:
    names = ("sent", "entered", "begun", "done", "arrived")
    times = {name: getattr(flow, name) for name in names}
    return replace(
        flow, **{name: np.where(time >= 0, time + by, -1) for name, time in times.items()}
    )


def _joined(*flows: Sent) -> Sent:
    names = Sent.__annotations__
    return Sent(**{name: np.concatenate([getattr(flow, name) for flow in flows]) for name in names})


MAX_BINS = 256


def timeline(transfer: Transfer, width: int, before: int = 0) -> dict[str, Any]:
    """Sum a transfer's packets into bins as the emulator does.

    The link lies ``before`` ns behind the sender: a faster link is between them.
    """
    data, known = transfer.content, Rounds(transfer).known - before
    entered = data.entered + before
    whole = ~data.lost
    while transfer.ended // width >= MAX_BINS:
        width *= 2
    count = transfer.ended // width + 1

    def summed(times: Numbers, values: Numbers) -> Numbers:
        places = np.minimum(times // width, count - 1)
        return np.bincount(places, values, count).astype(np.int64)

    sizes = np.full(len(data), SIZE)
    answered = summed(known[whole], sizes[whole])
    waits = summed(known[whole], SIZE * (known[whole] - entered[whole]) // 1000)
    return {
        "bin_ns": width,
        "sent_bytes": summed(entered, sizes).tolist(),
        "delivered_bytes": summed(data.arrived[whole], sizes[whole]).tolist(),
        "answered_bytes": answered.tolist(),
        "dropped_packets": summed(
            entered[~whole], np.ones(int((~whole).sum()), dtype=np.int64)
        ).tolist(),
        "rtt_us": [int(w // a) if a else None for w, a in zip(waits, answered, strict=True)],
    }


def result(transfer: Transfer, width: int = MS, before: int = 0) -> dict[str, Any]:
    """Return what the emulator keeps of a transfer."""
    connection = {
        "link": "client-server",
        "client_first_ns": 0,
        "server_bytes": 1,
        "client_last_ns": transfer.ended,
        "server_last_ns": 0,
        "handshake_ns": transfer.request,
    }
    return {
        "origin_ns": ORIGIN,
        "started_ns": 0,
        "connections": [connection],
        "directions": [{}, {"timeline": timeline(transfer, width, before)}],
    }
