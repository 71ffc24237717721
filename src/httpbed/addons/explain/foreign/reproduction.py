"""Writes the experiment that would reproduce what a file of somebody else's shows.

What the evidence gives becomes a link, a size, a window; what it does not is said in a comment. The
programs are httpbed's own choice: nobody says which took part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from httpbed.addons.explain.explanation import NS, Explained
from httpbed.addons.explain.foreign.evidence_file import Evidence, size_text, time_text
from httpbed.addons.explain.transfer import Transfer
from httpbed.base import units
from httpbed.base.errors import ConfigError, Mistake

PACKET_BYTES = 1500
FULL_QUEUE = 0.6
"""Losses are a queue's if the queue was so full, of its fullest, at half of them."""
MIN_QUEUE = 5
"""Packets that have to wait for a queue to be seen at all."""
SPARE = 2
"""Times the longest queue that was seen, for a queue that lost nothing."""
NOT_REPRODUCED = ("server", "client", "processing in the set-up", "pacing", "receiver's window")
WORTH = 0.05
LARGE_WINDOW = "16m"


@dataclass(frozen=True)
class Network:
    """A path as the evidence shows it."""

    rate_bit_s: int | None
    round_trip_ns: int
    loss: float
    """Chance of a packet of data to be lost, apart from a full queue."""
    queue_packets: int | None
    """None: no queue was seen."""
    is_full: bool
    """Whether the queue lost packets."""


def network(transfer: Transfer) -> Network:
    """Infer the path of a transfer."""
    data, rate = transfer.content, transfer.path.rate_bit_s
    lost = data.lost & (data.payload > 0)
    share = float(lost.sum()) / max(1, len(data))
    if rate is None:
        return Network(None, transfer.path.round_trip_ns, share, None, is_full=False)
    one = PACKET_BYTES * 8 * NS // rate
    waits = np.where(data.lost, 0, np.maximum(0, data.begun - data.entered))
    deepest = int(waits.max(initial=0)) // one
    if deepest < MIN_QUEUE:
        return Network(rate, transfer.path.round_trip_ns, share, None, is_full=False)
    places = np.flatnonzero(lost)
    arrived = np.flatnonzero(~data.lost)
    before = arrived[np.maximum(0, np.searchsorted(arrived, places) - 1)] if len(places) else places
    is_full = bool(len(places)) and float(np.median(waits[before])) >= FULL_QUEUE * waits.max()
    return Network(
        rate,
        transfer.path.round_trip_ns,
        0.0 if is_full else share,
        deepest + 1 if is_full else SPARE * deepest,
        is_full=is_full,
    )


def text(explained: Explained, evidence: Evidence, source: str) -> tuple[str, list[str]]:
    """Return the experiment file, and what it does not reproduce, in sentences.

    :raises ConfigError: when the evidence has no packets.
    """
    if not len(explained.transfer.data):
        reason = f"a {evidence.kind} without packets shows no link"
        raise ConfigError([Mistake("--experiment", reason, "give a capture or a qlog")])
    path, lacks = network(explained.transfer), [*_lacks(explained)]
    version = evidence.http_version or "2"
    words = [f"# Made of {source}: {explained.trial}", *(f"# {lack}" for lack in lacks), ""]
    words += [
        "schema = 1",
        'name = "reproduction"',
        f'question = "Does this take {time_text(explained.division.whole)}, as in the evidence?"',
        "replicates = 5",
        "seed = 1",
        'time_limit = "600 s"',
        "",
        "[topology]",
        'hosts = ["client", "server"]',
        "",
        "[[topology.links]]",
        'between = ["client", "server"]',
        *_link(path),
        "",
        "[roles.client]",
        'implementation = "curl"',
        f'http_version = "{version}"',
        "",
        "[roles.server]",
        'implementation = "nginx"',
        *_knobs(explained, version),
        "",
        "[workload]",
        'kind = "download"',
        f'size = "{_body(explained.transfer)} B"',
    ]
    return "\n".join(words) + "\n", lacks


def _link(path: Network) -> Iterator[str]:
    if path.rate_bit_s is not None:
        yield f'rate = "{path.rate_bit_s} bit/s"'
    yield f'delay = "{path.round_trip_ns // 2000} us"'
    if path.loss:
        yield f'down = {{ loss = "{100 * path.loss:.3g} %" }}'
    if path.rate_bit_s is not None:
        limit = path.queue_packets or 0
        if not path.is_full:
            limit = max(limit, _two_pipes(path))
        yield f'queue = {{ discipline = "droptail", limit = "{limit} packets" }}'


def _two_pipes(path: Network) -> int:
    return 100 + (path.rate_bit_s or 0) * path.round_trip_ns // NS // (4 * PACKET_BYTES)


def _knobs(explained: Explained, version: str) -> Iterator[str]:
    """Give the window that was seen to nginx, whose stream buffer can have any size."""
    if version != "3":
        return
    size = str(explained.held.plateau.payload) if explained.held else LARGE_WINDOW
    yield f'knobs = {{ http3_stream_buffer_size = "{size}" }}'


def _body(transfer: Transfer) -> int:
    """Return about the bytes of the answer's body: what was sent once after the request."""
    data = transfer.content
    later = (data.sent >= (transfer.request or 0)) & ~data.lost
    if transfer.protocol != "tcp":
        return int(data.payload[later].sum())
    numbers = data.first[later]
    ends = numbers + data.payload[later]
    return int(ends.max() - numbers.min()) if len(ends) else 1


def _lacks(explained: Explained) -> Iterator[str]:
    costs, whole = explained.division.costs(), max(1, explained.division.whole)
    for cause in NOT_REPRODUCED:
        if costs.get(cause, 0) >= WORTH * whole:
            yield f"the experiment does not reproduce the {cause}: {time_text(costs[cause])}"
    if explained.held and explained.transfer.protocol == "tcp":
        window = size_text(explained.held.plateau.payload)
        yield f"the experiment does not reproduce the window of {window}: set it in a program"
    path = explained.transfer.path
    if path.rate_bit_s is None:
        yield "the link was never full, so that its rate is unknown: it has no limit"
    else:
        rate = units.format_rate(path.rate_bit_s, units.SHORT_DIGITS)
        yield f"inferred: {rate}, a round trip of {time_text(path.round_trip_ns)}"
