"""A sender exactly as in the textbook, on a link as in the textbook: what an emulator would log.

It is in slow start until its first loss, then adds ``increase`` packets per round trip, or follows
CUBIC's curve; a loss, seen by three later arrivals, leaves ``beta`` of its window.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from httpbed.addons.conformance.flight import Flight, Packets, flight
from httpbed.results import throughput_models as models

FULL, ACK = 1500, 52
HELD = 10**9


@dataclass
class Ideal:
    """A sender and its link, both ideal."""

    beta: float = 0.5
    increase: float = 1.0
    cubic: bool = False
    rtt_s: float = 0.1
    rate_bit_s: float = 40e6
    initial: int = 10
    most: int = HELD
    """Packets in flight that another limit, such as flow control, allows."""
    lost: Collection[int] = ()
    lasts_s: float = 12.0
    _window: float = 0.0
    _threshold: float = float("inf")
    _recovery_ends: int = 0
    _outstanding: dict[int, None] = field(default_factory=dict)
    _free_s: float = 0.0
    _acks: list[tuple[float, int]] = field(default_factory=list)
    _sent: list[tuple[float, float]] = field(default_factory=list)
    _epoch: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def transfer(self) -> Flight:
        """Send for the given time and follow every packet."""
        return flight(*self.packets())

    def packets(self) -> tuple[Packets, Packets]:
        """Send for the given time; return what the emulator logs of sender and receiver."""
        self._window = float(self.initial)
        self._fill(0.0)
        acks = []
        while self._acks and self._acks[0][0] < self.lasts_s:
            now, number = heapq.heappop(self._acks)
            acks.append((self._sent[number][1], now))
            self._hear(now, number)
            self._fill(now)
        return _columns(self._sent, FULL), _columns(acks, ACK)

    def _hear(self, now: float, number: int) -> None:
        self._outstanding.pop(number, None)
        missing = list(itertools.takewhile(lambda one: one <= number - 3, self._outstanding))
        for one in missing:
            del self._outstanding[one]
            if one >= self._recovery_ends:
                self._back_off(now)
        if not missing and number >= self._recovery_ends:
            self._grow(now)

    def _back_off(self, now: float) -> None:
        before = self._window
        self._window = self._threshold = max(2.0, before * self.beta)
        self._recovery_ends = len(self._sent)
        self._epoch = (now + self.rtt_s, before, self._window)

    def _grow(self, now: float) -> None:
        if self._window < self._threshold:
            self._window += 1
        elif self.cubic:
            begin_s, before, after = self._epoch
            curve = models.cubic_window(now - begin_s, before, after, self.rtt_s)
            self._window = max(self._window, curve)
        else:
            self._window += self.increase / self._window

    def _fill(self, now: float) -> None:
        while len(self._outstanding) < min(int(self._window), self.most):
            number = len(self._sent)
            self._free_s = max(now, self._free_s) + FULL * 8 / self.rate_bit_s
            left_s = self._free_s + self.rtt_s / 2
            self._outstanding[number] = None
            if number in self.lost:
                left_s = float("nan")
            else:
                heapq.heappush(self._acks, (left_s + self.rtt_s / 2, number))
            self._sent.append((now, left_s))


def sent_evenly(windows: Iterable[float], rtt_s: float, share_lost: float = 0.0) -> Flight:
    """Send a window in each round trip, evenly, and lose a share of it at its beginning."""
    sent, is_lost = list[float](), list[bool]()
    for number, window in enumerate(windows):
        count = max(1, round(window))
        sent += [(number + place / count) * rtt_s for place in range(count)]
        is_lost += [place < share_lost * count for place in range(count)]
    sent_s = np.array(sent)
    left_s = np.where(is_lost, np.nan, sent_s + rtt_s / 2)
    sizes, numbers = np.full(len(sent), FULL), np.arange(len(sent))
    return Flight(Packets(sent_s, left_s, sizes, numbers), sent_s + rtt_s, FULL, rtt_s)


def _columns(times: list[tuple[float, float]], size: int) -> Packets:
    sent, left = (np.array(column) for column in zip(*times, strict=True))
    return Packets(sent, left, np.full(len(sent), size), np.arange(len(sent)))
