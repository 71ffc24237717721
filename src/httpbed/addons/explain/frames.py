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
        passed = [(data.sent, trace.sent), (answers.arrived, trace.received)]
    else:
        passed = [(data.arrived, trace.received), (answers.sent, trace.sent)]
    logged = passed[1][1]
    if not logged or not len(answers):
        return None
    came = passed[1][0][passed[1][0] >= 0]
    shift = int(came.min(initial=FAR)) - logged[0].at
    rows = [
        _matched(sent, at, packets, shift)
        for sent, (at, packets) in zip((data, answers), passed, strict=True)
    ]
    large = (data.payload > transfer.small) & (passed[0][0] >= 0)
    known = np.array([one.number >= 0 for one in rows[0]])
    if not large.any() or known[large].mean() < MIN_JOINED:
        return None
    ends, edges = qlog_trace.credit(trace, *rows)
    granted, spent = replace(answers, edge=edges), replace(data, end=ends)
    has_credit = bool((edges < FAR).any())
    return replace(transfer, data=spent, answers=granted, has_credit=has_credit)


def _matched(sent: Sent, at: Numbers, logged: Sequence[Packet], shift: int) -> list[Packet]:
    """Return the logged packet of each datagram; one without number where none fits."""
    own = [one for one in logged if one.number >= 0]
    found = [Packet(0, -1, 0)] * len(sent)
    begin = 0
    for place in np.argsort(at, kind="stable").tolist():
        now, size = int(at[place]), int(sent.payload[place])
        if now < 0:
            continue
        while begin < len(own) and own[begin].at + shift < now - TOLERANCE_NS:
            begin += 1
        candidate = begin
        while candidate < len(own) and own[candidate].at + shift <= now + TOLERANCE_NS:
            if own[candidate].size == size:
                found[place], begin = own[candidate], candidate + 1
                break
            candidate += 1
    return found
