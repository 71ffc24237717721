"""Which of a link's connections is which one of a browser, from times and bytes.

A browser names its connections, and not their ports. While a connection's responses are under way,
it brings their bytes, and the last of them when the browser has the last byte. So each connection
of the browser is the one whose bytes and ends differ least, and no two are the same. One whose
bytes differ by half is none, unless there is only one: a small document comes with a handshake.
A browser without a CPU reads late, so ends alone refuse none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from httpbed.addons.explain.evidence import Recorded
from httpbed.addons.explain.transfer import NS, Numbers, Transfer
from httpbed.addons.pages.load import timing
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest

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
