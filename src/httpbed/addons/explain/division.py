"""Divides the time of a transfer into periods, each with its cause: a pure function.

# Theory of operation

*The line of time.* A transfer lasts from the client's first packet to the end of its request. Four
marks cut it: the request leaves, it reaches the server, the bodies' first data enters the
narrowest link, and their last data leaves that link. Before the bodies a transfer waits; during
them the link is either busy or idle; after them the last packet travels, the server answers an
upload, and the client closes. The server sends the bodies of a download, the client those of an
upload: a rule names sender and receiver, and the transfer says which end each is.

*Busy and idle.* The link is one server with one queue (:mod:`.transfer`). While it is busy with
this connection's bytes, nothing else can make the transfer faster than a faster link. While it is
idle, exactly one thing is missing: a packet of the sender. So each idle time gets the reason why
its **ending packet**, the next one that the sender sends, was not sent before. What an idle time
costs is what its cause costs: without the cause the link would have been busy.

*The reason of a packet.* A sender that waits for window sends when an acknowledgement arrives, so
a packet is **prompted** if a packet of the receiver reached the sender at most a reaction time
before it. Any other packet comes by the sender's own decision: a timer, or data that appears.

Prompted: the wait is cut from its end. The sender's reaction comes last; before it the way of the
acknowledgement; before that the time for which the receiver had the newest packet and did not
acknowledge it. The rest of the wait is for window. Which window follows from the bytes in flight:

1. a packet was lost and its round trip of repair is not over: *recovery* (RFC 9002, 7.3.2);
2. TCP's advertised window has no room for a full segment: *receiver's window* (RFC 9293, 3.8.6);
3. bytes in flight stand at one number for several round trips, without loss: *fixed window*;
4. no packet was lost so far and the number grows from round to round: *slow start*;
5. this wait and the one before it follow packets that are not full: the sender's program gives its
   data in portions, so *server*, of an upload *client*;
6. else *congestion window*.

Unprompted:

1. a packet is lost and too few followed it to prove that: *timeout* (RFC 6298; RFC 9002, 6.2);
2. nothing is in flight: the sender could have sent, and had nothing: *server* (an upload's is the
   *client*). If a request of the receiver prompted it, the time before that is the receiver's
   (T-RAT's and Siekkinen's application limit). That of a client is *client's congestion window*
   from when its window was full, and *recovery* or *timeout* from when a request was lost;
3. the packet before it was not full: the sender's buffer was empty: likewise;
4. bytes in flight grow from round to round before any loss: *slow start*, by a sender that paces;
5. else *pacing*.

*Behind a proxy.* A proxy has nothing to send until its server has given it something. So its
*server* time has as a detail what its connections to servers did meanwhile.

*Two readings.* The division of **costs** leaves the link's busy time to the link. The division by
what was **in force** gives a busy time that is shorter than a round trip to the cause that ends it:
a window of half the pipe is in force for all of the time, and costs half of it. Both add up to the
whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from httpbed.addons.explain.causes import Surety
from httpbed.addons.explain.periods import Division, Period, cut, joined
from httpbed.addons.explain.receiver import MAX_FRAMES, Receiver
from httpbed.addons.explain.rounds import Rounds
from httpbed.addons.explain.transfer import FAR, Numbers, Transfer, merged
from httpbed.experiment.workload import Sender, other_end

BURST_NS = 1_000_000
"""Packets of a client's request follow each other by less."""
DATA_AT_ONCE = 3
"""Full packets within a round trip that begin an answer; fewer may be probes of the path's MTU."""
DUPLICATES = 3


def divide(transfer: Transfer) -> Division:
    """Divide the time of a transfer."""
    marks = _marks(transfer)
    before = [*_behind_proxy(transfer, _before(transfer, marks), 0)]
    if marks.first is None or marks.last is None:
        periods = tuple(joined(before))
        return Division(periods, periods, None)
    rounds = Rounds(transfer)
    answer = _Answer(transfer, rounds, marks.first, marks.last)
    # The bodies' times are those at the narrowest link, the times before them those at the hosts.
    way = int((transfer.data.entered - transfer.data.sent).min(initial=FAR))
    during, forced = (
        _behind_proxy(transfer, one, way) for one in (answer.periods, answer.in_force())
    )
    after = [*_after(transfer, marks, marks.last)]
    costs, forces = [*before, *during, *after], [*before, *forced, *after]
    if transfer.is_inferred:
        costs, forces = ([*_less_sure(one, transfer.hidden)] for one in (costs, forces))
    return Division(tuple(joined(costs)), tuple(joined(forces)), rounds)


def _behind_proxy(transfer: Transfer, periods: Iterable[Period], way: int) -> Iterable[Period]:
    """Tell what a proxy's connections to its servers did while it had nothing to send.

    ``way``: how much later than at the proxy the periods count.
    """
    for detail, spans in transfer.behind_proxy.items():
        seen = [Period(begin + way, end + way, "server", "seen", detail) for begin, end in spans]
        periods = [
            replace(part, detail=other.detail) if other else part
            for part, other in cut(periods, "server", seen)
        ]
    return periods


def _less_sure(periods: Iterable[Period], hidden: frozenset[str]) -> Iterator[Period]:
    """Yield periods of an inferred link: only headers are seen."""
    for period in periods:
        if period.cause in hidden:
            yield replace(period, cause="unknown", surety="inferred", detail="")
            continue
        is_seen = period.cause == "receiver's window" and period.surety == "seen"
        yield period if is_seen else replace(period, surety="inferred")


@dataclass(frozen=True)
class _Marks:
    """The cuts of a transfer's time."""

    request: int
    """The request leaves; the end if it never does."""
    heard: int
    """What the first data waits for has reached the server."""
    left: int | None
    """The server's reply to that leaves: the first data itself, the client's leave to send, or the
    last one of small answers; None without a reply."""
    first: int | None
    """The first data enters the link."""
    last: int | None
    """The link has carried the last data."""
    arrived: int
    """That has reached the receiver."""


def _marks(transfer: Transfer) -> _Marks:
    end, data, asking = transfer.ended, transfer.content, transfer.of_client
    if transfer.request is None:
        return _Marks(end, end, None, None, None, end)
    request = min(transfer.request, end)
    burst = (asking.sent >= request) & (asking.sent <= request + BURST_NS) & (asking.payload > 0)
    heard = np.sort(asking.arrived[burst & ~asking.lost])
    earliest = int(heard[0]) if len(heard) and transfer.sender == "server" else request
    is_first = (2 * data.payload >= transfer.full) | transfer.has_small_answers
    large = np.flatnonzero(is_first & (data.sent >= earliest))
    delivered = np.flatnonzero((data.arrived >= 0) & (data.arrived <= end))
    latest = min(int(heard[-1]) if len(heard) else end, end)
    if not len(large) or not len(delivered):
        answered = delivered[data.sent[delivered] >= earliest]
        if not len(answered) or not transfer.is_over or transfer.sender == "client":
            return _Marks(request, latest, None, None, None, end)
        last = answered[np.argmax(data.arrived[answered])]
        heard_at = latest if len(heard) else request
        return _Marks(request, heard_at, int(data.sent[last]), None, None, int(data.arrived[last]))
    wanted = min(DATA_AT_ONCE, max(1, transfer.body_bytes // transfer.full))
    wanted = 1 if transfer.has_small_answers else wanted
    within = data.sent[large] + max(transfer.path.round_trip_ns, BURST_NS)
    followers = np.searchsorted(data.sent[large], within, side="right") - np.arange(len(large))
    enough = np.flatnonzero(followers >= wanted)
    first = int(large[enough[0] if len(enough) else 0])
    last = int(delivered[np.argmax(data.arrived[delivered])])
    if data.done[last] <= data.entered[first]:
        return _Marks(request, latest, None, None, None, end)
    left = int(data.sent[first])
    if transfer.sender == "client":
        left = _leave_to_send(transfer, request, left)
    in_time = heard[heard <= left]
    return _Marks(
        request,
        int(in_time[-1]) if len(in_time) else min(latest, int(data.entered[first])),
        left,
        int(data.entered[first]),
        int(data.done[last]),
        int(data.arrived[last]),
    )


def _leave_to_send(transfer: Transfer, request: int, first: int) -> int:
    """Return when the server sent what an upload's first data waited for, or the request itself.

    That is 100 Continue (RFC 9110, 10.1.1).
    """
    answers = transfer.answers
    came = (answers.payload > transfer.small) & (answers.sent > request) & ~answers.lost
    came &= answers.arrived <= first
    return int(answers.sent[came].max(initial=request))


def _before(transfer: Transfer, marks: _Marks) -> Iterator[Period]:
    """Divide the time before the bodies, by what was under way."""
    end = transfer.ended if marks.first is None else marks.first
    until_request = min(marks.request, end)
    yield from _waiting(transfer, 0, until_request, "set-up", "processing in the set-up")
    heard = min(marks.heard, end)
    silent = "client" if transfer.sender == "client" else "processing in the set-up"
    yield from _waiting(transfer, until_request, heard, "path", silent)
    if marks.first is None and marks.left is not None:
        yield from reversed([*_exchanged(transfer, heard, marks.arrived)])
        yield Period(max(heard, marks.arrived), end, "client", "seen")
        return
    asking = transfer.of_client
    if not (asking.lost & (asking.sent >= until_request) & (asking.sent <= heard)).any():
        left = end if marks.left is None else min(max(heard, marks.left), end)
        is_known = transfer.is_over or marks.first is not None
        yield Period(heard, left, "server" if is_known else "unknown", "seen")
        yield from _waiting(transfer, left, end, "path", "client")
    else:
        yield from _waiting(transfer, heard, end, "path", "server")


def _exchanged(transfer: Transfer, begin: int, end: int) -> Iterator[Period]:
    """Divide a time of small requests and answers, from its end, where the last answer arrives.

    What is sent waits for the newest packet that its sender has got. The way of that packet is the
    path's, and the time from its arrival on the sender's. After a lost copy a timer runs.
    """
    of_end: dict[Sender, Receiver]
    of_end = {"client": Receiver(transfer), "server": Receiver(transfer.turned)}
    least = {"client": MAX_FRAMES[transfer.protocol], "server": transfer.small}
    what = {"client": "a request was lost", "server": "an answer was lost"}
    at, waiting = end, transfer.receiver
    while at > begin:
        other = other_end(waiting)
        flow = of_end[other].answers
        came = np.flatnonzero(
            ~flow.lost
            & (flow.payload > least[other])
            & (flow.arrived > begin)
            & (flow.arrived <= at)
            & (flow.sent < at)
        )
        if not len(came):
            yield Period(begin, at, waiting, "seen")
            return
        newest = int(came[np.argmax(flow.arrived[came])])
        sent, arrived = int(flow.sent[newest]), int(flow.arrived[newest])
        first = max(begin, min(sent, of_end[other].lost_request(newest)))
        yield Period(arrived, at, waiting, "seen")
        yield Period(max(begin, sent), arrived, "path", "seen")
        yield Period(first, sent, "timeout", "seen", what[other])
        at, waiting = first, other


def _waiting(
    transfer: Transfer, begin: int, end: int, under_way: str, silent: str
) -> Iterator[Period]:
    """Yield periods by whether a packet is under way, and after a silence by what it waits for."""
    both = (transfer.data, transfer.answers)
    starts = np.concatenate([flow.sent[~flow.lost] for flow in both])
    ends = np.concatenate([flow.arrived[~flow.lost] for flow in both])
    drops = np.sort(np.concatenate([flow.sent[flow.lost] for flow in both]))
    divided_to = begin
    for first, last in merged(starts, ends):
        start, stop = max(first, begin), min(last, end)
        if stop <= start:
            continue
        if start > divided_to:
            yield _silence(drops, divided_to, start, silent)
        yield Period(max(divided_to, start), stop, under_way, "seen")
        divided_to = stop
    if divided_to < end:
        yield _silence(drops, divided_to, end, silent)


def _silence(drops: Numbers, begin: int, end: int, cause: str) -> Period:
    """Return a time in which nothing was under way: after a loss it is that of a timer."""
    heard_since = np.searchsorted(drops, end) - np.searchsorted(drops, begin - 2_000_000_000)
    if heard_since and end - begin > BURST_NS:
        return Period(begin, end, "timeout", "seen", "in the set-up")
    return Period(begin, end, cause, "seen")


def _after(transfer: Transfer, marks: _Marks, last: int) -> Iterator[Period]:
    arrived = min(marks.arrived, transfer.ended)
    yield Period(min(last, arrived), arrived, "path", "seen")
    if transfer.sender == "client" and transfer.is_over:
        answers, since = transfer.answers, arrived
        came = (answers.sent >= since) & ~answers.lost & (answers.arrived <= transfer.ended)
        if came.any():
            reply = int(np.flatnonzero(came)[np.argmax(answers.arrived[came])])
            left, arrived = int(answers.sent[reply]), int(answers.arrived[reply])
            yield Period(since, left, "server", "seen")
            yield Period(left, arrived, "path", "seen")
    yield Period(arrived, transfer.ended, "client" if transfer.is_over else "unknown", "seen")


@dataclass(frozen=True)
class _Answer:
    """The time in which the answer's data passes the link."""

    transfer: Transfer
    rounds: Rounds
    first: int
    last: int

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """Its busy and idle times, with their causes."""
        periods = list[Period]()
        divided_to = self.first
        for begin, end, cause in self._busy():
            if begin > divided_to:
                periods += self._idle(divided_to, begin)
            periods.append(Period(max(divided_to, begin), end, cause, "seen"))
            divided_to = max(divided_to, end)
        if divided_to < self.last:
            periods += self._idle(divided_to, self.last)
        return tuple(periods)

    def in_force(self) -> Iterator[Period]:
        """Yield the same time, short busy times by the cause that follows, or came before."""
        stretches, kinds = list[list[Period]](), list[bool]()
        for period in self.periods:
            is_busy = period.cause in BUSY or period.lasts <= self.transfer.reaction_ns
            if stretches and is_busy == kinds[-1]:
                stretches[-1].append(period)
            else:
                stretches.append([period])
                kinds.append(is_busy)
        short = self.rounds.round_trip_ns
        for index, stretch in enumerate(stretches):
            begin, end = stretch[0].begin, stretch[-1].end
            neighbours = [*stretches[index + 1 : index + 2], *stretches[max(0, index - 1) : index]]
            if not kinds[index] or end - begin >= short or not neighbours:
                yield from stretch
                continue
            main = max(
                neighbours[0], key=lambda period: (period.cause not in PARTIAL, period.lasts)
            )
            yield Period(begin, end, main.cause, main.surety, main.detail)

    def _busy(self) -> Iterator[tuple[int, int, str]]:
        """Yield when the link was busy within the answer, and with what."""
        data = self.transfer.data
        own = np.flatnonzero(~data.lost)
        begun, done = data.begun[own], data.done[own]
        kinds = np.where(self.transfer.repeated[own], "repeated bytes", "link")
        other_begun, other_done = self.transfer.others
        other = "link" if self.transfer.others_are_own else "others on the link"
        begun = np.concatenate([begun, other_begun])
        done = np.concatenate([done, other_done])
        kinds = np.concatenate([kinds, np.full(len(other_begun), other)])
        order = np.argsort(begun, kind="stable")
        for first, last, kind in zip(
            begun[order].tolist(), done[order].tolist(), kinds[order].tolist(), strict=True
        ):
            start, stop = max(first, self.first), min(last, self.last)
            if stop > start:
                yield start, stop, kind

    def _idle(self, begin: int, end: int) -> Iterator[Period]:
        """Divide an idle time: at each packet that the sender sent in it, and at its end."""
        entered = self.transfer.content.entered
        low, high = np.searchsorted(entered, [begin, end], side="left").tolist()
        divided_to = begin
        for index in range(low, min(high + 1, len(entered))):
            stop = min(int(entered[index]), end)
            if stop > divided_to:
                yield from self._wait(divided_to, stop, index)
                divided_to = stop
        if divided_to < end:
            yield Period(divided_to, end, "unknown", "inferred")

    def _wait(self, begin: int, end: int, packet: int) -> Iterator[Period]:
        """Divide the wait for a packet; ``begin`` and ``end`` are times at the link."""
        rounds, data = self.rounds, self.transfer.content
        answer = int(rounds.prompting[packet])
        if answer < 0:
            yield from self._unprompted(begin, end, packet)
            return
        shift = int(data.entered[packet] - data.sent[packet])
        answers = self.transfer.answers
        heard = max(begin, min(end, int(answers.arrived[answer]) + shift))
        late = min(heard - begin, rounds.receiver.late_ns(answer))
        if rounds.asks(packet, answer):
            yield from self._request(begin, heard, answer, shift, "inferred")
        elif rounds.receiver.opens_window(answer):
            yield Period(begin, heard, "receiver's window", "inferred")
        else:
            yield self._window(begin, heard - late, packet)
            yield Period(heard - late, heard, "late acknowledgements", "seen")
        yield Period(heard, end, "sender's reaction", "seen")

    def _window(self, begin: int, end: int, packet: int) -> Period:
        """Name the window that a prompted packet waited for."""
        rounds = self.rounds
        sent = int(self.transfer.content.sent[packet])
        if rounds.in_recovery(sent):
            return Period(begin, end, "recovery", "seen")
        if rounds.is_receiver_limited(packet):
            return Period(begin, end, "receiver's window", "seen")
        if rounds.in_plateau(sent):
            return Period(begin, end, "fixed window", "inferred")
        if rounds.is_growing(sent):
            return Period(begin, end, "slow start", "inferred")
        if rounds.awaits_portion(packet):
            return Period(begin, end, self.transfer.sender, "inferred")
        return Period(begin, end, "congestion window", "inferred")

    def _unprompted(self, begin: int, end: int, packet: int) -> Iterator[Period]:
        """Name what a packet waited for that no acknowledgement prompted."""
        rounds, data = self.rounds, self.transfer.content
        sent = int(data.sent[packet])
        if (kind := rounds.timer(packet)) is not None:
            yield Period(begin, end, "timeout", "seen", kind)
        elif rounds.is_receiver_limited(packet):
            yield Period(begin, end, "receiver's window", "seen")
        elif rounds.unknown_before(packet) == 0:
            yield from self._nothing_in_flight(begin, end, packet)
        elif rounds.is_partial(packet - 1) and not rounds.in_plateau(sent):
            yield Period(begin, end, self.transfer.sender, "inferred")
        elif rounds.in_recovery(sent):
            yield Period(begin, end, "recovery", "inferred")
        elif rounds.is_growing(sent):
            yield Period(begin, end, "slow start", "inferred")
        elif rounds.in_plateau(sent):
            yield Period(begin, end, "fixed window", "inferred")
        else:
            yield Period(begin, end, "pacing", "inferred")

    def _nothing_in_flight(self, begin: int, end: int, packet: int) -> Iterator[Period]:
        """Divide a time after which all was acknowledged: the receiver's until it asks again.

        A receiver of uploads asks by its answer to the one before.
        """
        asked = self.rounds.receiver.asked_between(begin, packet)
        if asked is None:
            yield Period(begin, end, self.transfer.sender, "seen")
            return
        request, arrived = asked
        heard = min(max(arrived, begin), end)
        yield from self._request(begin, heard, request, 0, "seen")
        yield Period(heard, end, self.transfer.sender, "seen")

    def _request(
        self, begin: int, end: int, request: int, shift: int, surety: Surety
    ) -> Iterator[Period]:
        """Divide the time until a request is heard: until it leaves, and its way.

        The receiver's window may be full, and the request may be lost. The time of a page's
        response begins where a request that left at once would be heard on an idle path; so there,
        what delays a request counts a way later, and of its way only the queues.
        """
        sent = int(self.transfer.answers.sent[request])
        shift += self.rounds.receiver.way_of_answers_ns if self.transfer.has_small_answers else 0
        first = min(sent, self.rounds.receiver.lost_request(request))
        full = self._of_receiver.full_since(first) if self.transfer.receiver == "client" else FAR
        cuts = (end, *(max(begin, at + shift) for at in (sent, first, full)))
        end, asked, left, held = itertools.accumulate(cuts, min)
        yield Period(begin, held, self.transfer.receiver, surety)
        yield Period(held, left, "client's congestion window", "inferred")
        # An acknowledgement proves that the request was lost, or a timer expires.
        repair = "recovery" if self._of_receiver.is_prompted(sent) else "timeout"
        yield Period(left, asked, repair, "seen", "a request was lost")
        yield Period(asked, end, "path", surety)

    @cached_property
    def _of_receiver(self) -> Rounds:
        """What follows from the packets about the receiver as a sender of requests."""
        turned = self.transfer.turned
        small = min(turned.small, MAX_FRAMES[turned.protocol])
        return Rounds(turned, turned.data.where(turned.data.payload > small))


OTHER_RESPONSES = "other responses"
BUSY = frozenset({"link", "others on the link", "repeated bytes", OTHER_RESPONSES})
WINDOWS = frozenset({"fixed window", "receiver's window"})
PARTIAL = frozenset({"late acknowledgements", "sender's reaction"})
"""Causes that lengthen the wait for another one."""
