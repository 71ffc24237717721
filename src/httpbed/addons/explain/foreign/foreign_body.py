"""Explains a file that httpbed did not record, prints the answer, and writes an experiment for it.

In a qlog of QUIC, packet numbers and acknowledgements take the place of TCP's numbers; MAX_DATA and
MAX_STREAM_DATA that of its window, which is then seen and not inferred.

The experiment would reproduce what the file shows. What the file gives becomes a link, a size, a
window; comments name what it does not give. The programs are httpbed's choice, because the file
does not name those that took part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from httpbed.addons.explain import explain_report, qlog_trace
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import (
    Explained,
    Place,
    Unexplained,
    duration_text,
    explained,
)
from httpbed.addons.explain.foreign import evidence_file, requests
from httpbed.addons.explain.foreign.evidence_file import Evidence, Line, size_text
from httpbed.addons.explain.foreign.one_sided import Side
from httpbed.addons.explain.foreign.seen import Half, OneSidedError, Seen
from httpbed.addons.explain.qlog_trace import Packet, QlogError, Trace, credit
from httpbed.addons.explain.transfer import FAR, MAX_PACKETS, NS, Numbers, Transfer
from httpbed.base import disk, units
from httpbed.base.errors import ConfigError, Mistake, collected, require_none
from httpbed.cli.echo import echo
from httpbed.programs.catalog import Catalog
from httpbed.report import markdown, terminal, terminal_report
from httpbed.report.document import Facts
from httpbed.report.phrasing import Sentence, whole_treatment
from httpbed.report.sections import Document

MAX_LINES = 20
"""Connections or requests that are listed; more are counted."""


def readable(path: Path, catalog: Catalog, chosen: str | None, side: Side | None) -> Evidence:
    """Read a file.

    :raises ConfigError: when it cannot be read, or nothing of it can be explained.
    """
    evidence = _read(path, catalog, chosen, side)
    if not explained(evidence.found):
        raise ConfigError(
            Mistake(str(path), f"{unexplained.trial}: {unexplained.reason}")
            for unexplained in evidence.found
            if isinstance(unexplained, Unexplained)
        )
    return evidence


def show(path: Path, evidence: Evidence, experiment: Path | None, form: str) -> None:
    """Print what explains a file, and write the experiment that would reproduce it."""
    if experiment is not None:
        text, lacks = experiment_text(explained(evidence.found)[0], evidence, path.name)
        disk.write_output(experiment, text.encode())
        written = f"{experiment} is written: httpbed run {experiment}"
        evidence = replace(evidence, notes=(*evidence.notes, *lacks, written))
    shown = _Shown(path, evidence)
    if form == "json":
        echo(json.dumps(shown.values()))
    elif form == "markdown":
        echo(markdown.render(shown.document()), nl=False)
    else:
        terminal_report.show(shown.document(), None, terminal.console())


def _read(path: Path, catalog: Catalog, chosen: str | None, side: Side | None) -> Evidence:
    kind, mistakes = evidence_file.kind_of(path), list[Mistake]()
    if side and kind != "capture":
        mistakes.append(Mistake("--side", f"a {kind} says whose it is", "leave it out"))
    with collected(mistakes):
        if kind == "capture":
            evidence = evidence_file.of_capture(path, catalog, chosen, side)
        elif kind == "qlog":
            evidence = read(path, catalog, chosen)
        else:
            evidence = requests.read(path, kind, chosen)
    require_none(mistakes)
    return evidence


@dataclass(frozen=True)
class _Shown:
    path: Path
    found: Evidence

    def document(self) -> Document:
        """Return it as a document for terminal and Markdown."""
        known = explained(self.found.found)
        return Document(
            name=self.path.name,
            question="Why did it take so long?",
            httpbed=version("httpbed"),
            started="",
            clock="",
            programs=(),
            heading=Facts((("evidence", f"{self.path.name}, a {self.found.kind}"), *self._lines())),
            treatments=explain_report.table(known, whole_treatment),
            answer=tuple(Sentence(". ".join(one.sentences())) for one in known),
            notes=tuple(self.found.notes),
            evidence=tuple(_evidence(known)),
            sections=(),
        )

    def _lines(self) -> Iterator[tuple[str, str]]:
        lines = self.found.lines
        for number, one in enumerate(lines[:MAX_LINES], start=1):
            what = f"{one.protocol}, {size_text(one.amount)}, {duration_text(one.lasts)}"
            yield ("has" if number == 1 else "", f"{number:3} {one.name}: {what}")
        if len(lines) > MAX_LINES:
            yield "", f"and {len(lines) - MAX_LINES} more"

    def values(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "schema": 1,
            "file": self.path.name,
            "kind": self.found.kind,
            f"{self.found.unit}s": [
                {
                    "name": line.name,
                    "protocol": line.protocol,
                    "server_bytes": line.amount,
                    "seconds": line.lasts / NS,
                }
                for line in self.found.lines[: 50 * MAX_LINES]
            ],
            "explained": [
                {
                    **one.values(),
                    "remarks": list(one.transfer.remarks),
                    "link": {
                        "rate_bit_s": one.transfer.path.rate_bit_s,
                        "round_trip_s": one.transfer.path.round_trip_ns / NS,
                    },
                }
                for one in explained(self.found.found)
            ],
            "causes": {name: cause.meaning for name, cause in BY_NAME.items()},
            "notes": list(self.found.notes),
        }


def _evidence(known: list[Explained]) -> Iterator[str]:
    for one in known:
        packets = len(one.transfer.data) + len(one.transfer.answers)
        count = [f"{packets} packets"] if packets else []
        yield f"{one.trial}: {'; '.join([*count, *one.transfer.remarks])}"


UDP_HEADERS = 28


def read(path: Path, catalog: Catalog, chosen: str | None) -> Evidence:
    """Explain the connection of a qlog.

    :raises ConfigError: when it is of another version, or damaged at its beginning.
    """
    if chosen:
        raise ConfigError([Mistake("--connection", "a qlog has one connection", "leave it out")])
    try:
        with path.open("rb") as file:
            trace = qlog_trace.read(file)
    except QlogError as error:
        raise ConfigError([Mistake(str(path), str(error), error.remedy)]) from None
    except OSError as error:
        raise ConfigError([Mistake(str(path), f"cannot be read: {error.strerror}")]) from None
    name = f"the connection of {path.name}"
    place = Place(0, name, {"connection": path.name}, 1)
    side: Side = "server" if trace.is_server else "client"
    answer = evidence_file.explain(place, lambda: _seen(trace), side, catalog)
    data = trace.sent if trace.is_server else trace.received
    lasts = max((packet.at for packet in (*trace.sent, *trace.received)), default=0)
    line = Line(path.name, "QUIC", sum(packet.size for packet in data), lasts)
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
    numbers = np.array([packet.number for packet in data], dtype=np.int64)
    sizes = np.array([packet.size for packet in data], dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    behind = np.cumsum(sizes[order])
    first = np.zeros(len(data), dtype=np.int64)
    first[order] = behind - sizes[order]
    known = np.array([answer.acknowledged for answer in answers], dtype=np.int64)
    count = np.searchsorted(numbers[order], known, side="right")
    acknowledged = np.where(known >= 0, np.concatenate([[0], behind])[count], 0)
    ends, edges = credit(trace, data, answers, "client")
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
    at = np.array([packet.at for packet in packets], dtype=np.int64)
    size = np.array([packet.size for packet in packets], dtype=np.int64)
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
    """Return when the first stream that the client opened passed."""
    return next((answer.at for answer in answers if any(key % 4 == 0 for key in answer.ends)), None)


def _handshake(trace: Trace, *, is_server: bool) -> tuple[int, int] | None:
    if is_server:
        return None
    later = [packet.at for packet in trace.received if packet.at >= trace.sent[0].at]
    return (later[0] - trace.sent[0].at, 0) if later else None


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


def experiment_text(explained: Explained, evidence: Evidence, source: str) -> tuple[str, list[str]]:
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
        f'question = "Does it take {duration_text(explained.division.whole)}, as in the evidence?"',
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
            yield f"the experiment does not reproduce the {cause}: {duration_text(costs[cause])}"
    if explained.held and explained.transfer.protocol == "tcp":
        window = size_text(explained.held.plateau.payload)
        yield f"the experiment does not reproduce the window of {window}: set it in a program"
    path = explained.transfer.path
    if path.rate_bit_s is None:
        yield "the link was never full, so that its rate is unknown: it has no limit"
    else:
        rate = units.format_rate(path.rate_bit_s, units.SHORT_DIGITS)
        yield f"inferred: {rate}, a round trip of {duration_text(path.round_trip_ns)}"
