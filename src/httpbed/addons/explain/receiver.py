"""What each packet of a receiver says: it acknowledges, asks for more, or opens a window."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from httpbed.addons.explain.transfer import FAR, Numbers, Protocol, Transfer

MAX_ACK_DELAY_NS = 25_000_000
"""Longest delay of an acknowledgement, if its sender says nothing else (RFC 9000 section 18.2)."""
MAX_FRAMES: Mapping[Protocol, int] = {"tcp": 50, "quic": 60}
"""Payload of a packet whose frames, in a record of TLS or a packet of QUIC, carry no request.

Two frames of HTTP/2 that open windows have 48 bytes in a record (RFC 9113, 6.9); the shortest
requests of browsers have 59.
"""


class Receiver:
    """A transfer's receiver, by its packets."""

    def __init__(self, transfer: Transfer) -> None:
        self.transfer = transfer
        self.data, self.answers = transfer.content, transfer.answers
        self.full = transfer.full

    def late_ns(self, answer: int) -> int:
        """Return for how long an answer was late: held by its sender, or by a queue on its way."""
        return self._held_ns(answer) + int(self._queued[answer])

    @cached_property
    def way_of_answers_ns(self) -> int:
        """How long the fastest answer was under way; far away if none arrived."""
        came = self.answers.where(~self.answers.lost)
        return int((came.arrived - came.sent).min(initial=FAR))

    @cached_property
    def _queued(self) -> Numbers:
        """How much longer than the fastest answer each one was under way; 0 for a lost one."""
        lasts = self.answers.arrived - self.answers.sent
        waited = np.where(self.answers.lost, 0, lasts - self.way_of_answers_ns)
        return np.where(waited > self.transfer.reaction_ns, waited, 0)

    def _held_ns(self, answer: int) -> int:
        """Return for how long the receiver had the newest packet before it sent an answer."""
        arrived = self._arrivals
        before = int(np.searchsorted(arrived, self.answers.sent[answer], side="right")) - 1
        waited = int(self.answers.sent[answer] - arrived[before]) if before >= 0 else 0
        return waited if waited > self.transfer.reaction_ns else 0

    @cached_property
    def _arrivals(self) -> Numbers:
        return np.sort(self.data.arrived[~self.data.lost])

    def is_request(self, answer: int) -> bool:
        """Whether it may be one; of many, over TCP, it is larger than frames that open windows."""
        is_small = self.transfer.protocol == "tcp" and not self.transfer.has_small_answers
        least = 0 if is_small else MAX_FRAMES[self.transfer.protocol]
        return int(self.answers.payload[answer]) > least

    def asked_between(self, begin: int, packet: int) -> tuple[int, int] | None:
        """Return the first request that left after ``begin``, and when the last one arrived.

        Both arrived before a packet of the sender; None: there is none.
        """
        asked = (self.answers.sent >= begin) & (self.answers.arrived >= 0)
        asked &= self.answers.arrived <= self.data.sent[packet]
        found = [place for place in np.flatnonzero(asked).tolist() if self.is_request(place)]
        if not found:
            return None
        return found[0], int(self.answers.arrived[found[-1]])

    def lost_request(self, place: int) -> int:
        """Return when the receiver first sent a request that was lost at first; FAR: none was.

        Over TCP numbers tell. Over QUIC all that it sent since its last request that arrived is
        lost.
        """
        answers = self.answers
        asked = answers.sent[place]
        before = answers.lost & (answers.sent < asked)
        if answers.first.any():
            same = (answers.first <= answers.first[place]) & (
                answers.first + answers.payload > answers.first[place]
            )
            return int(answers.sent[before & same].min(initial=FAR))
        requests = [
            place
            for place in np.flatnonzero(answers.sent < asked).tolist()
            if self.is_request(place)
        ]
        lost = itertools.takewhile(lambda one: before[one], reversed(requests))
        return min((int(answers.sent[one]) for one in lost), default=FAR)

    def opens_window(self, answer: int) -> bool:
        """Whether an answer moves a window of its reader, and acknowledges nothing new.

        Over TCP its numbers tell: TCP's own window, or a frame of HTTP/2 in the payload; a
        duplicate does neither. Over QUIC it comes later than an acknowledgement may, when another
        answer has already acknowledged all that had arrived. What its sender sent before it had any
        data, such as session tickets, opens no window that was used up.
        """
        if self.answers.sent[answer] < self._first_arrival:
            return False
        is_none = self.is_no_acknowledgement(answer)
        if self.transfer.protocol == "tcp":
            return is_none
        late = self._held_ns(answer)
        return is_none and late > MAX_ACK_DELAY_NS + self.transfer.reaction_ns

    @cached_property
    def _first_arrival(self) -> int:
        """When the first large packet that was sent after the request reached the receiver."""
        data = self.data
        came = (data.sent >= (self.transfer.request or 0)) & ~data.lost
        return int(data.arrived[came & (2 * data.payload >= self.full)].min(initial=FAR))

    def is_no_acknowledgement(self, answer: int) -> bool:
        """Whether an answer acknowledges only what another one has acknowledged before."""
        if self.transfer.protocol == "tcp":
            return bool(self._updates[answer])
        left = int(self.answers.sent[answer])
        since = np.searchsorted(self._left, [left - self._held_ns(answer), left])
        return bool(np.diff(since)[0])

    @cached_property
    def _left(self) -> Numbers:
        return np.sort(self.answers.sent)

    @cached_property
    def _updates(self) -> np.ndarray:
        answers = self.answers
        known, edge = (
            np.concatenate([[0], np.maximum.accumulate(one)[:-1]])
            for one in (answers.acknowledged, answers.edge)
        )
        # A receiver of data behind a hole enlarges a window that has room, in its duplicates.
        sent = np.searchsorted(self.data.sent, answers.arrived, side="right")
        room = edge - np.concatenate([[0], self.ends])[sent]
        moves = (answers.payload > 0) | ((answers.edge > edge) & (room < self.full))
        return np.asarray((answers.acknowledged <= known) & moves & (known > 0))

    @cached_property
    def ends(self) -> Numbers:
        """The number behind the last byte that was sent, after each packet."""
        return np.maximum.accumulate(self.data.end)
