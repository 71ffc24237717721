"""How long a recorded server took for each response.

# Theory

A HAR file's ``wait`` runs from the end of the request to the head of the response. It is the sum of

1. one round trip;
2. the transmission of what carries the head: with TLS over TCP, a record of up to 16 KiB (RFC 8446,
   section 5.1), which the browser reads whole; over QUIC, a packet;
3. the time that the response queued behind others: on the link, or on its connection, which pauses
   for a round trip when the congestion window is used up;
4. the server's time.

A replay has its own network, which makes 1 to 3 again. So only 4 may delay the replayed response;
otherwise the queueing of the recording is replayed as server time, and queued once more.

1 comes from the recorded connects, and 2 from the rate at which bodies arrived. If nearly all of
them arrived whole with their heads, as small ones over TLS do, the rate is that of the fastest
records: no record takes less time than its transmission, and server times differ. 3 cannot be
separated from 4 once they mix, but it has an upper bound: the transmission of all other responses
that were under way between request and head, and a round trip for each time that the congestion
window was used up. A window begins with ten segments (RFC 6928) and doubles each round trip, so it
is used up as often as the bytes on the connection double. What is within this bound may be
queueing; such a response gets at most the shortest server time of its origin. A longer wait is the
server's. An origin without any longer wait shows no server time at all: its shortest wait may have
queued, too.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from httpbed.addons.pages.load.timing import merged
from httpbed.addons.pages.sites.replay.bodies import Size
from httpbed.addons.pages.sites.replay.selection import SelectedRequest

RECORD_BYTES, PACKET_BYTES = 2**14, 1200
"""What arrives at once over TLS, and over QUIC."""
ROUNDED_S = 0.002
"""Shorter times are no server time: browsers round, and a request takes time to send."""
MIN_BYTES, MIN_RECEIVED_S = 2**15, 0.01
"""Least bytes and time from which a rate is computed."""
MIN_RECORD_BYTES, MIN_ALIKE = 4096, 3
"""Least length and number of the records whose waits give the rate; they differ by no more than
:data:`OVERHEAD`."""
OVERHEAD = 1.25
"""Transmission takes up to this much longer than computed: packets have headers, and the recorded
times from which the rate comes are those at which the browser read."""
WINDOW_BYTES = 10 * 1460
"""The first congestion window (RFC 6928)."""


@dataclass(frozen=True)
class ServerTimes:
    """The delays of all responses, and how they were found."""

    delays_s: tuple[float, ...]
    capped: int
    """Responses whose wait may contain queueing, and is not replayed whole."""
    unknown: int
    """Responses without a wait."""
    unconnected: tuple[str, ...]
    """Hosts without a connect time: their shortest wait counts as the round trip."""


@dataclass(frozen=True)
class _Arrival:
    """When a request was sent and its response arrived, in seconds since 1970."""

    sent_s: float
    head_s: float
    ended_s: float
    bytes: int


def server_times(requests: Sequence[SelectedRequest], sizes: Sequence[Size]) -> ServerTimes:
    """Return the server's time of each response."""
    arrivals = [_arrival(one, size) for one, size in zip(requests, sizes, strict=True)]
    records = [_record(one, size) for one, size in zip(requests, sizes, strict=True)]
    round_trips_s, unconnected = _round_trips_s(requests)
    byte_s = _received(arrivals, records) or _fastest(requests, records, round_trips_s)
    nets_s = [
        _net_s(one, round_trips_s[one.host] + record * byte_s)
        for one, record in zip(requests, records, strict=True)
    ]
    shortest: dict[str, float] = {}
    for one, net_s in zip(requests, nets_s, strict=True):
        shortest[one.host] = min(net_s, shortest.get(one.host, net_s))
    link = _UnderWay(arrivals)
    connections = _connections(requests, arrivals)
    queued_s = []
    for number, (one, arrival) in enumerate(zip(requests, arrivals, strict=True)):
        on_connection = connections[_connection(one)].beside(arrival) + records[number]
        paused_s = pauses(on_connection) * round_trips_s[one.host]
        queued_s.append(link.beside(arrival) * byte_s + paused_s + ROUNDED_S)
    waits = [*zip(requests, nets_s, queued_s, strict=True)]
    waited = {one.host for one, net_s, most_s in waits if net_s > most_s}
    delays_s = []
    for one, net_s, most_s in waits:
        least_s = shortest[one.host] if one.host in waited else 0.0
        delays_s.append(least_s if net_s <= least_s + most_s else net_s)
    return ServerTimes(
        delays_s=tuple(round(delay_s, 4) for delay_s in delays_s),
        capped=sum(delay_s < net_s for delay_s, net_s in zip(delays_s, nets_s, strict=True)),
        unknown=sum(request.entry.timings.wait is None for request in requests),
        unconnected=unconnected,
    )


def _net_s(one: SelectedRequest, network_s: float) -> float:
    net_s = (one.entry.timings.wait or 0.0) - network_s
    return net_s if net_s >= ROUNDED_S else 0.0


def _record(one: SelectedRequest, size: Size) -> int:
    return min(size.bytes, PACKET_BYTES if one.entry.http_version == "3" else RECORD_BYTES)


def _arrival(one: SelectedRequest, size: Size) -> _Arrival:
    times = one.entry.timings
    before = (times.blocked, times.dns, times.connect, times.send)
    sent_s = one.entry.requested_at + sum(part or 0.0 for part in before)
    head_s = sent_s + (times.wait or 0.0)
    return _Arrival(sent_s, head_s, head_s + (times.receive or 0.0), size.bytes)


def _received(arrivals: Sequence[_Arrival], records: Sequence[int]) -> float:
    """Return how long a byte may take, from when bodies arrived; 0 if too few did to know it."""
    receiving = merged(
        (arrival.head_s, arrival.ended_s)
        for arrival in arrivals
        if arrival.ended_s > arrival.head_s
    )
    received_s = sum(end - begin for begin, end in receiving)
    heads = {begin for begin, _ in receiving}
    arrived = 0
    for one, record in zip(arrivals, records, strict=True):
        if one.ended_s > one.head_s:
            # The record of a head came before the period that it begins.
            arrived += one.bytes - (record if one.head_s in heads else 0)
    if arrived < MIN_BYTES or received_s < MIN_RECEIVED_S:
        return 0.0
    return OVERHEAD * received_s / arrived


def _fastest(
    requests: Sequence[SelectedRequest],
    records: Sequence[int],
    round_trips_s: Mapping[str, float],
) -> float:
    """Return how long a byte of the fastest records took; 0 if too few took as long as they."""
    byte_s = sorted(
        ((one.entry.timings.wait or 0.0) - round_trips_s[one.host]) / record
        for one, record in zip(requests, records, strict=True)
        if record >= MIN_RECORD_BYTES
    )
    taken_s = [each for each in byte_s if each > 0]
    alike = taken_s[MIN_ALIKE - 1 : MIN_ALIKE]
    return taken_s[0] if alike and alike[0] <= OVERHEAD * taken_s[0] else 0.0


def _round_trips_s(
    requests: Sequence[SelectedRequest],
) -> tuple[Mapping[str, float], tuple[str, ...]]:
    """Return each host's round trip, and the hosts where it is a guess.

    The minimum is closest to that of an idle network.
    """
    connects: dict[str, float] = {}
    waits: dict[str, float] = {}
    for request in requests:
        if took_s := _round_trip_s(request):
            connects[request.host] = min(took_s, connects.get(request.host, took_s))
        if (wait_s := request.entry.timings.wait) is not None:
            waits[request.host] = min(wait_s, waits.get(request.host, wait_s))
    hosts = dict.fromkeys(request.host for request in requests)
    unconnected = tuple(host for host in hosts if host not in connects)
    return {host: connects.get(host, waits.get(host, 0.0)) for host in hosts}, unconnected


def _round_trip_s(one: SelectedRequest) -> float | None:
    """Return the round trip that a connect shows; None if it shows none.

    A TCP connect without TLS takes one round trip, and so does QUIC's handshake, which is all TLS.
    """
    times = one.entry.timings
    took_s = (times.connect or 0.0) - (0.0 if one.entry.http_version == "3" else times.ssl or 0.0)
    return took_s if took_s >= ROUNDED_S and one.entry.has_whole_setup else None


def pauses(sent: int) -> int:
    """Return how often a sender waits for a round trip while its window grows to send so much."""
    return max(0, math.ceil(math.log2(sent / WINDOW_BYTES + 1)) - 1)


def _connection(one: SelectedRequest) -> str:
    return one.entry.connection or one.host


def _connections(
    requests: Sequence[SelectedRequest], arrivals: Sequence[_Arrival]
) -> Mapping[str, _UnderWay]:
    """Return what was under way on each connection; of an unknown one, from its host."""
    grouped: dict[str, list[_Arrival]] = {}
    for one, arrival in zip(requests, arrivals, strict=True):
        grouped.setdefault(_connection(one), []).append(arrival)
    return {name: _UnderWay(own) for name, own in grouped.items()}


class _UnderWay:
    """The bytes under way at any time on a link or a connection."""

    def __init__(self, arrivals: Sequence[_Arrival]) -> None:
        sent = sorted((arrival.sent_s, arrival.bytes) for arrival in arrivals)
        ended = sorted((arrival.ended_s, arrival.bytes) for arrival in arrivals)
        self._sent_s, self._ended_s = [at_s for at_s, _ in sent], [at_s for at_s, _ in ended]
        self._sent = [0, *accumulate(size for _, size in sent)]
        self._ended = [0, *accumulate(size for _, size in ended)]

    def beside(self, mine: _Arrival) -> int:
        """Return the bytes of the other responses between a request and the head of its response.

        Those requested before its head, without those that had ended before its request.
        """
        begun = self._sent[bisect_left(self._sent_s, mine.head_s)]
        return max(0, begun - self._ended[bisect_right(self._ended_s, mine.sent_s)] - mine.bytes)
