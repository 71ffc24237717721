"""Explains a qlog of QUIC.

Packet numbers and acknowledgements take the place of TCP's numbers; MAX_DATA and MAX_STREAM_DATA
that of its window, which is then seen and not inferred.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from httpbed.addons.explain import qlog_trace
from httpbed.addons.explain.explanation import Explained, Place, Unexplained
from httpbed.addons.explain.foreign import evidence_file, one_sided
from httpbed.addons.explain.foreign.evidence_file import Evidence, Line
from httpbed.addons.explain.foreign.seen import Half, OneSidedError, Seen
from httpbed.addons.explain.qlog_trace import Packet, QlogError, Trace, credit
from httpbed.addons.explain.transfer import FAR, MAX_PACKETS, Numbers
from httpbed.base.errors import ConfigError, Mistake
from httpbed.programs.catalog import Catalog

UDP_HEADERS = 28


def read(path: Path, catalog: Catalog, chosen: str | None) -> Evidence:
    """Explain the connection of a qlog.

    :raises ConfigError: when it is of another version, or damaged at its beginning.
    """
    if chosen:
        raise ConfigError([Mistake("--connection", "a qlog has one connection")])
    try:
        with path.open("rb") as file:
            trace = qlog_trace.read(file)
    except QlogError as error:
        raise ConfigError([Mistake(str(path), str(error), error.remedy)]) from None
    except OSError as error:
        raise ConfigError([Mistake(str(path), f"cannot be read: {error.strerror}")]) from None
    name = f"the connection of {path.name}"
    place = Place(0, name, {"connection": path.name})
    answer: Explained | Unexplained
    try:
        seen = _seen(trace)
        side: one_sided.Side = "server" if trace.is_server else "client"
        answer = evidence_file.of_transfer(place, one_sided.transfer(seen, side), catalog)
    except OneSidedError as error:
        answer = Unexplained(0, name, place.levels, str(error))
    data = trace.sent if trace.is_server else trace.received
    lasts = max((one.at for one in (*trace.sent, *trace.received)), default=0)
    line = Line(path.name, "QUIC", sum(one.size for one in data), lasts)
    notes = [f"{trace.damage}; what follows was left out"] if trace.damage else []
    return Evidence("qlog", "connection", [line], [answer], notes, "3")


# What this end saw


def _seen(trace: Trace) -> Seen:
    is_server = trace.is_server
    data = trace.sent if is_server else trace.received
    answers = trace.received if is_server else trace.sent
    if not data or not answers:
        raise OneSidedError("it has packets of one direction only")
    data, lost = _with_lost(trace, data, is_server=is_server)
    numbers = np.array([one.number for one in data], dtype=np.int64)
    sizes = np.array([one.size for one in data], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    behind = np.cumsum(sizes[order])
    first = np.zeros(len(data), dtype=np.int64)
    first[order] = behind - sizes[order]
    known = np.array([one.acknowledged for one in answers], dtype=np.int64)
    count = np.searchsorted(numbers[order], known, side="right")
    acknowledged = np.where(known >= 0, np.concatenate([[0], behind])[count], 0)
    ends, edges = credit(trace, data, answers)
    remarks = [f"its first {MAX_PACKETS} packets"] if trace.is_cut else []
    return Seen(
        protocol="quic",
        data=_half(data, first, np.zeros_like(first), ends),
        answers=_half(answers, np.zeros_like(known), np.maximum.accumulate(acknowledged), edges),
        request=_request(answers),
        handshake=_handshake(trace, is_server=is_server),
        ends=True,
        remarks=tuple(remarks),
        lost=lost,
        has_credit=bool((edges < FAR).any()),
    )


def _half(packets: list[Packet], first: Numbers, known: Numbers, edge: Numbers) -> Half:
    at = np.array([one.at for one in packets], dtype=np.int64)
    size = np.array([one.size for one in packets], dtype=np.int64)
    none = np.full(len(packets), -1, dtype=np.int64)
    return Half(at, size + UDP_HEADERS, size, first, known, edge, none, none)


def _with_lost(
    trace: Trace, data: list[Packet], *, is_server: bool
) -> tuple[list[Packet], np.ndarray]:
    """Return the data with what was lost on its way to a client: the numbers that never came."""
    if is_server:
        return data, np.array([packet.number in trace.lost for packet in data], dtype=bool)
    came = {packet.number for packet in data}
    packets, lost, newest = list[Packet](), list[bool](), -1
    for packet in data:
        for number in range(newest + 1, packet.number) if newest >= 0 else ():
            if number not in came:
                packets.append(Packet(packet.at, number, packet.size))
                lost.append(True)
        newest = max(newest, packet.number)
        packets.append(packet)
        lost.append(False)
    return packets, np.array(lost, dtype=bool)


def _request(answers: list[Packet]) -> int | None:
    """Return when the client's first stream of its own passed."""
    return next((one.at for one in answers if any(key % 4 == 0 for key in one.ends)), None)


def _handshake(trace: Trace, *, is_server: bool) -> tuple[int, int] | None:
    if is_server:
        return None
    later = [one.at for one in trace.received if one.at >= trace.sent[0].at]
    return (later[0] - trace.sent[0].at, 0) if later else None
