"""Which response each packet of a load was of, and what the link carried of others meanwhile.

# Theory of operation

Packets are encrypted, but the browser says when each part of each body arrived, and of how many
bytes it was. A part is in the newest packets that had arrived by then and are of no part yet, as
many as its bytes need. The newest, because a lost packet of QUIC holds back its own stream alone:
older packets may be of a part that is still waiting. What is left over are handshakes and frames.

So of the time for which the link was busy while a response was open, each packet's share belongs to
that response or to another one. Another one's has three kinds:

1. the packet had left the server before the request reached it: no scheduler can call it back;
2. its request is less urgent (RFC 9218, 4.1): the server sent the wrong one first;
3. its request is as urgent, or more: the browser did not ask for this response first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from httpbed.addons.explain import windows
from httpbed.addons.explain.division import OTHER_RESPONSES
from httpbed.addons.explain.explanation import size_text
from httpbed.addons.explain.periods import Period
from httpbed.addons.explain.transfer import FAR, NS, Numbers, Transfer
from httpbed.addons.pages.load.browser_load import BrowserLoad, PageRequest
from httpbed.addons.pages.report import waterfall
from httpbed.base import units
from httpbed.experiment.roles import HttpVersion

ON_THE_WAY = "sent before the request arrived"
LESS_URGENT = "less urgent"
AS_URGENT = "as urgent or more"
USUAL_URGENCY = 3
"""Of a request that says nothing (RFC 9218, 4.1)."""
_URGENCY = re.compile(r"(?:^|[,;\s])u=([0-7])\b")
NOBODY = -1
MAX_NAMED = 3
"""Other responses that a sentence names."""


def urgency(request: PageRequest) -> int:
    """Return what a request asked for: 0 is the most urgent, 7 the least."""
    fields = {name.lower(): value for name, value in request.request_headers}
    found = _URGENCY.search(fields.get("priority", ""))
    return int(found[1]) if found else USUAL_URGENCY


@dataclass(frozen=True)
class Behind:
    """What the link carried of other responses while one was open."""

    request: PageRequest
    bytes: Mapping[str, int]
    """By kind."""
    of: Sequence[tuple[PageRequest, int]]
    """Each other response with its bytes, the largest first."""
    connection_share: float
    """Of the bytes that the response's own connection brought meanwhile, those of others."""
    spans: Sequence[Period]
    """When, in ns at the link."""

    def sentence(self, name: str) -> str:
        """Say it with the name of the response, without a full stop."""
        count, names = len(self.of), waterfall.short_names([one for one, _ in self.of[:MAX_NAMED]])
        more = f" and {count - MAX_NAMED} more" if count > MAX_NAMED else ""
        others = units.format_count(count, "other response")
        return (
            f"while {name} was open, the link carried {size_text(sum(self.bytes.values()))} of"
            f" {others} ({', '.join(names)}{more}):"
            f" {'; '.join(self._kinds(name))}"
        )

    def _kinds(self, name: str) -> Iterator[str]:
        """Yield each kind with its bytes."""
        wanted = urgency(self.request)
        others = sorted({urgency(one) for one, _ in self.of if urgency(one) > wanted})
        before = f"{'/'.join(f'u={one}' for one in others)} before u={wanted}"
        words = {
            ON_THE_WAY: "had left the server before the request reached it",
            LESS_URGENT: f"is less urgent ({before}), and the server sent it first",
            AS_URGENT: f"is as urgent or more: the browser did not ask for {name} first",
        }
        for kind, text in words.items():
            if size := self.bytes.get(kind):
                yield f"{'all of it' if len(self.bytes) == 1 else size_text(size)} {text}"

    def values(self) -> dict[str, object]:
        """Return it as JSON values."""
        return {
            "urgency": urgency(self.request),
            "bytes": dict(self.bytes),
            "connection_share": round(self.connection_share, 6),
            "of": [
                {"url": one.url, "urgency": urgency(one), "bytes": size} for one, size in self.of
            ],
        }


@dataclass(frozen=True)
class Turns:
    """The packets of a load that are known to be of responses, in the order of the link."""

    requests: Sequence[PageRequest]
    begun: Numbers
    done: Numbers
    sent: Numbers
    payload: Numbers
    owner: Numbers
    """Places in the requests."""

    @cached_property
    def urgencies(self) -> Sequence[int]:
        """The urgency of each request: a load has many more packets than requests."""
        return [urgency(one) for one in self.requests]

    def behind(
        self, request: PageRequest, heard: int, times: tuple[int, int], spared: Collection[str]
    ) -> Behind | None:
        """Return what the link carried first; None without anything.

        Args:
            request: The response's.
            heard: When it reached the server, in ns.
            times: When the response was open, at the link.
            spared: Requests that the page waits for anyway, by their IDs.
        """
        begin, end = times
        low, high = np.searchsorted(self.done, begin, "right"), np.searchsorted(self.begun, end)
        counts = [one.id not in spared and one.id != request.id for one in self.requests]
        inside = np.arange(low, high)
        others = inside[np.array(counts, dtype=bool)[self.owner[inside]]] if len(inside) else inside
        if not len(others):
            return None
        wanted = urgency(request)
        kinds, of, spans = Counter[str](), Counter[int](), list[Period]()
        for place in others.tolist():
            owner, size = int(self.owner[place]), int(self.payload[place])
            kind = LESS_URGENT if self.urgencies[owner] > wanted else AS_URGENT
            kind = ON_THE_WAY if self.sent[place] < heard else kind
            kinds[kind] += size
            of[owner] += size
            first, last = int(self.begun[place]), int(self.done[place])
            spans.append(Period(first, last, OTHER_RESPONSES, "inferred", kind))
        same = np.array([one.connection == request.connection for one in self.requests])
        whole = self.payload[inside[same[self.owner[inside]]]].sum()
        beside = self.payload[others[same[self.owner[others]]]].sum()
        found = [(self.requests[owner], size) for owner, size in of.most_common()]
        return Behind(request, kinds, found, float(beside / max(1, whole)), spans)


def of_load(
    transfers: Mapping[str, Transfer], load: BrowserLoad, zero: int, version: HttpVersion
) -> Turns:
    """Return the packets of a load's connections, each with its response.

    ``transfers`` has them by the browser's names; ``zero`` is the navigation, in ns since the
    client's first packet.
    """
    requests = load.requests  # parts of unfinished responses were on the link, too
    named = defaultdict[str, list[int]](list)
    for place, request in enumerate(requests):
        named[request.connection].append(place)
    columns = [np.zeros((5, 0), dtype=np.int64)]
    for name, transfer in transfers.items():
        pieces = [*_pieces(requests, named[name], zero)]
        way = way_to_server_ns(transfer)
        heard = {place: heard_ns(requests[place], way, zero) for place in named[name]}
        owner = _owners(transfer, pieces, heard, windows.MAX_OVERHEAD[version])
        data, known = transfer.content, owner != NOBODY
        times = data.begun, data.done, data.sent, data.payload, owner
        columns.append(np.stack([one[known] for one in times]))
    every = np.concatenate(columns, axis=1)
    every = every[:, np.argsort(every[0], kind="stable")]
    return Turns(requests, *every)


Piece = tuple[int, int, int]
"""When a part of a response arrived, in ns; its bytes; the place of its request."""


def _pieces(requests: Sequence[PageRequest], places: Sequence[int], zero: int) -> Iterator[Piece]:
    """Yield heads and parts of bodies; none if the browser reports bodies in one."""
    for place in places:
        one = requests[place]
        body, parts = max(0, one.wire_bytes - one.head_bytes), one.parts
        if one.headers_end_s is not None and one.head_bytes:
            yield round(one.headers_end_s * NS) + zero, one.head_bytes, place
        # A document's parts count what it has when it is decoded.
        share = min(1.0, body / max(1, sum(size for _, size in parts)))
        for at_s, size in parts:
            yield round(at_s * NS) + zero, round(size * share), place


def _owners(
    transfer: Transfer, pieces: Sequence[Piece], heard: Mapping[int, int], most: float
) -> Numbers:
    """Return the place of the request of each packet with data; NOBODY where it is not known.

    No packet is of a request that its sender has not ``heard``.
    """
    data = transfer.content
    owner = np.full(len(data), NOBODY)
    came = np.flatnonzero(~data.lost)
    came = came[np.argsort(data.arrived[came], kind="stable")]
    arrived, payload, sent = (one.tolist() for one in (data.arrived, data.payload, data.sent))
    bytes_of_parts = sum(size for _, size, _ in pieces)
    overhead = min(most, int(data.payload[came].sum()) / max(1, bytes_of_parts))
    waiting, queue, left = list[int](), came.tolist()[::-1], 0.0
    for at, size, place in sorted(pieces):
        while queue and arrived[queue[-1]] <= at:
            waiting.append(queue.pop())
        left += size * overhead
        while waiting and left > payload[waiting[-1]] / 2 and sent[waiting[-1]] >= heard[place]:
            packet = waiting.pop()
            owner[packet] = place
            left -= payload[packet]
        left = min(left, transfer.full)
    return owner


def way_to_server_ns(transfer: Transfer) -> int:
    """Return how long a request is under way: a round trip less the way of the fastest answer."""
    data = transfer.content.where(~transfer.content.lost)
    way_back = int((data.arrived - data.sent).min(initial=FAR))
    return max(0, transfer.path.round_trip_ns - way_back)


def heard_ns(request: PageRequest, way_ns: int, zero: int) -> int:
    """Return when a request reached the server, in ns since the client's first packet."""
    return round((request.send_start_s or 0.0) * NS) + zero + way_ns
