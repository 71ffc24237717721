"""Reads windows of QUIC from a qlog that a trial kept, and gives them to its packets.

Packets are encrypted, but a client or server that keeps a qlog writes down what it grants and what
it sends: MAX_DATA, MAX_STREAM_DATA, STREAM. Each logged packet is joined to the datagram of its
size that passed its host at its time. So the receiver's window is seen and not inferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from httpbed.addons.explain import qlog_trace
from httpbed.addons.explain.qlog_trace import Packet, QlogError, Trace
from httpbed.addons.explain.transfer import FAR, Numbers, Sent, Transfer
from httpbed.base import untrusted_files
from httpbed.base.untrusted_files import UnreadableError
from httpbed.experiment.kept import QLOG_ENDINGS

TOLERANCE_NS = 5_000_000
"""Difference of a packet's time in a qlog and on the link; some programs log milliseconds."""
MIN_JOINED = 0.9
"""Share of the larger packets that has to be in the qlog."""
MAX_BYTES = 2**31
MAX_FILES = 20


def with_credit(transfer: Transfer, artifacts: Path, parts: Sequence[str]) -> Transfer:
    """Return a transfer with the windows that a qlog of one of the parts shows, if one does."""
    if transfer.protocol == "quic":
        for trace in _traces(artifacts, parts):
            if joined := _joined(transfer, trace):
                return joined
    return transfer


def _traces(artifacts: Path, parts: Sequence[str]) -> Iterator[Trace]:
    files = [
        file
        for part in parts
        for file in sorted((artifacts / part).glob("*"))
        if file.suffix in QLOG_ENDINGS
    ]
    for file in files[:MAX_FILES]:
        try:
            with untrusted_files.opened(file, MAX_BYTES, top=artifacts) as stream:
                yield qlog_trace.read(stream.buffer)
        except (OSError, QlogError, UnreadableError):
            continue


def _joined(transfer: Transfer, trace: Trace) -> Transfer | None:
    """Return the transfer with a qlog's windows; None if it is of another connection."""
    data, answers = transfer.data, transfer.answers
    if trace.is_server:
        data_at, answers_at = data.sent, answers.arrived
        data_log, answer_log = trace.sent, trace.received
    else:
        data_at, answers_at = data.arrived, answers.sent
        data_log, answer_log = trace.received, trace.sent
    if not answer_log or not (answers_at >= 0).any():
        return None
    shift = int(answers_at[answers_at >= 0].min()) - answer_log[0].at
    data_packets = _matched(data, data_at, data_log, shift)
    large = (data.payload > transfer.small) & (data_at >= 0)
    is_logged = np.array([packet.number >= 0 for packet in data_packets])
    if not large.any() or is_logged[large].mean() < MIN_JOINED:
        return None
    answer_packets = _matched(answers, answers_at, answer_log, shift)
    ends, edges = qlog_trace.credit(trace, data_packets, answer_packets)
    granted, spent = replace(answers, edge=edges), replace(data, end=ends)
    has_credit = bool((edges < FAR).any())
    return replace(transfer, data=spent, answers=granted, has_credit=has_credit)


def _matched(sent: Sent, times: Numbers, logged: Sequence[Packet], shift: int) -> list[Packet]:
    """Return the logged packet of each datagram; one without number where none fits."""
    numbered = [packet for packet in logged if packet.number >= 0]
    matched = [Packet(0, -1, 0)] * len(sent)
    begin = 0
    for place in np.argsort(times, kind="stable").tolist():
        now, size = int(times[place]), int(sent.payload[place])
        if now < 0:
            continue
        while begin < len(numbered) and numbered[begin].at + shift < now - TOLERANCE_NS:
            begin += 1
        candidate = begin
        while candidate < len(numbered) and numbered[candidate].at + shift <= now + TOLERANCE_NS:
            if numbered[candidate].size == size:
                matched[place], begin = numbered[candidate], candidate + 1
                break
            candidate += 1
    return matched
