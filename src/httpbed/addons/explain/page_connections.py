"""The connections of a load: which of a browser's each one is, and its division.

# Theory of operation

*Which it is.* A browser names its connections, and not their ports. While a connection's responses
are under way, it brings their bytes, and the last of them when the browser has the last byte. So
each connection of the browser is the one whose bytes and ends differ least, and no two are the
same. One whose bytes differ by half is none, unless there is only one: a small document comes with
a handshake. A browser without a CPU reads late, so ends alone refuse none.

*What held it.* A window of a stream, such as the buffer that a server has for it, holds each body
and not their sum. So bytes in flight stand at as many windows as bodies are under way, and jump
whenever one begins or ends. A plateau of four round trips is then rare. But the sizes of the
windows are known from the recipes, and the number of bodies from the browser. Before the first loss
a congestion window does not shrink. So of a time that would be the congestion window's, these are a
*fixed window*'s:

1. a round trip in which bytes in flight are one known window for each body that is under way;
2. if there is such a one, any in which they are below what they have been: then the congestion
   window has room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from httpbed.addons.explain import windows
from httpbed.addons.explain.division import divide
from httpbed.addons.explain.evidence import Recorded
from httpbed.addons.explain.periods import Division, Period, joined, recast
from httpbed.addons.explain.rounds import Plateau, Rounds
from httpbed.addons.explain.transfer import FAR, NS, Numbers, Transfer
from httpbed.addons.explain.windows import NamedWindow
from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.experiment.roles import HttpVersion

MAX_CONNECTIONS = 64
"""Of a load, those that brought most bytes are read."""
MAX_ERROR = 0.5
"""Share of its bytes by which a connection may differ from the browser's."""


@dataclass(frozen=True)
class Candidate:
    """A connection of the link, with what it brought to the client."""

    transfer: Transfer

    @cached_property
    def _arrived(self) -> tuple[Numbers, Numbers]:
        """When its data came, in order, and the payload of so many packets."""
        data = self.transfer.content
        came = np.flatnonzero(~data.lost)
        order = came[np.argsort(data.arrived[came], kind="stable")]
        return data.arrived[order], np.concatenate([[0], np.cumsum(data.payload[order])])

    def errors(self, spans: Sequence[Span]) -> tuple[float, float]:
        """Return by how much it differs from a browser's record of some times, in bytes.

        First by its bytes, then by the ends of its bytes.
        """
        times, sums = self._arrived
        differing = late = 0.0
        for span in spans:
            low, high = np.searchsorted(times, [span.begin, span.end], side="right")
            differing += abs(float(sums[high] - sums[low]) - span.bytes)
            last = int(times[high - 1]) if high > low else span.begin
            late += span.bytes * (span.end - last) / max(1, span.end - span.begin)
        return differing, late


@dataclass(frozen=True)
class Span:
    """A time in which a connection's responses were under way, in ns, and their bytes."""

    begin: int
    end: int
    bytes: int


def carriers(recorded: Recorded, load: BrowserLoad, zero: int) -> Mapping[str, Transfer]:
    """Return the connection of the link that is each one of the browser, as far as it is known.

    ``zero`` is the navigation, in ns since the client's first packet.

    :raises NoTransferError: when packets cannot be followed.
    """
    named = defaultdict[str, list[PageRequest]](list)
    for request in timing.fetched(load):
        named[request.connection].append(request)
    largest = sorted(recorded.connections, key=lambda one: -int(one["server_bytes"]))
    transfers = (recorded.transfer(one) for one in largest[:MAX_CONNECTIONS])
    found = [
        Candidate(replace(one, has_small_answers=True)) for one in transfers if len(one.content)
    ]
    is_only = len(found) == len(named) == 1
    errors = list[tuple[float, str, int]]()
    for name, requests in named.items():
        spans = [*_spans(requests, zero)]
        whole = max(1, sum(span.bytes for span in spans))
        for place, one in enumerate(found):
            differing, late = one.errors(spans)
            if is_only or differing <= MAX_ERROR * whole:
                errors.append(((differing + late) / whole, name, place))
    matched = dict[str, Transfer]()
    taken = set[int]()
    for _, name, place in sorted(errors):
        if name not in matched and place not in taken:
            matched[name] = found[place].transfer
            taken.add(place)
    return matched


def _spans(requests: Sequence[PageRequest], zero: int) -> Iterator[Span]:
    times = [
        (one.send_start_s, one.ended_s, one.wire_bytes)
        for one in requests
        if one.send_start_s is not None and one.ended_s is not None
    ]
    for begin_s, end_s in timing.merged((begin, max(begin, end)) for begin, end, _ in times):
        size = sum(size for begin, _, size in times if begin_s <= begin <= end_s)
        yield Span(round(begin_s * NS) + zero, round(end_s * NS) + zero, size)


SHRUNK = 0.8
"""Share of the largest bytes in flight below which a congestion window has room."""


@dataclass(frozen=True)
class Carrier:
    """A connection of a load."""

    transfer: Transfer
    zero: int
    """The navigation, in ns since the client's first packet."""
    bodies: Sequence[tuple[int, int]]
    """When each of its bodies came, in ns since the navigation."""
    known: Sequence[NamedWindow]
    """Windows that may hold a stream."""
    version: HttpVersion

    @cached_property
    def shift(self) -> int:
        """Return what makes a browser's time one of the link, in ns.

        The link's times count from the client's first packet, and end one way earlier.
        """
        data = self.transfer.content.where(~self.transfer.content.lost)
        return self.zero - int((data.arrived - data.done).min(initial=FAR))

    @cached_property
    def _plain(self) -> Division:
        return divide(self.transfer)

    @cached_property
    def division(self) -> Division:
        """Its time from the client's first packet on."""
        plain = self._plain
        if not self._standing or plain.rounds is None:
            return plain
        spans = sorted((one.begin, one.end) for one in (*self._standing, *_shrunk(plain.rounds)))
        held = [Period(begin, end, "fixed window", "inferred") for begin, end in spans]
        costs, forces = (
            tuple(joined(recast(some, "congestion window", held)))
            for some in (plain.periods, plain.in_force)
        )
        return Division(costs, forces, plain.rounds)

    @cached_property
    def _standing(self) -> list[Plateau]:
        """Rounds before a loss in which bytes in flight are a known window for each body."""
        if self._plain.rounds is None:
            return []
        return [
            one
            for one in _rounds(self._plain.rounds)
            if any(
                self.of_streams(one.payload, bodies)
                for bodies in (self.under_way(one.begin, one.end), self._early(one))
            )
        ]

    def _early(self, one: Plateau) -> int:
        """Return how many bodies passed the link early in a round, whose bytes are in flight."""
        early = one.begin + (one.end - one.begin) // 4 - self.shift
        return max(1, sum(first <= early <= last for first, last in self.bodies))

    def of_streams(self, payload: int, bodies: int) -> NamedWindow | None:
        """Return the known window that each body fills, if they all fill the same one."""
        return windows.named(payload // bodies, self.transfer.full, self.version, iter(self.known))

    def under_way(self, begin: int, end: int) -> int:
        """Return how many bodies passed the link in the mean of a time, at least one."""
        total = sum(
            max(0, min(last + self.shift, end) - max(first + self.shift, begin))
            for first, last in self.bodies
        )
        return max(1, round(total / max(1, end - begin)))

    def plateau(self, begin: int, end: int) -> Plateau | None:
        """Return the window that stood for longest in a time at the link; None without any."""
        rounds = self._plain.rounds
        every = [*(rounds.plateaus if rounds else ()), *_runs(self._standing)]
        found = [one for one in every if one.begin < end and one.end > begin]
        return max(found, key=lambda one: min(one.end, end) - max(one.begin, begin), default=None)


def _rounds(rounds: Rounds) -> Iterator[Plateau]:
    """Yield each round before the first loss."""
    for begin, end, window in zip(*(one.tolist() for one in rounds.table), strict=True):
        if end < rounds.first_loss:
            yield Plateau(begin, end, window, 1)


def _shrunk(rounds: Rounds) -> Iterator[Plateau]:
    """Yield the rounds before a loss in which less is in flight than there has been."""
    largest = 0
    for one in _rounds(rounds):
        if one.payload < SHRUNK * largest:
            yield one
        largest = max(largest, one.payload)


def _runs(standing: Sequence[Plateau]) -> Iterator[Plateau]:
    """Yield neighbours of about one size as one plateau."""
    run = list[Plateau]()
    for one in standing:
        if run and (
            one.begin > run[-1].end + 1 or abs(one.payload / run[0].payload - 1) > 1 - SHRUNK
        ):
            yield _whole(run)
            run = []
        run.append(one)
    if run:
        yield _whole(run)


def _whole(run: Sequence[Plateau]) -> Plateau:
    payload = int(np.median([one.payload for one in run]))
    return Plateau(run[0].begin, run[-1].end, payload, len(run))
