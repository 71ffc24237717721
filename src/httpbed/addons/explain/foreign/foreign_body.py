"""Explains a file that httpbed did not record, prints the answer, and writes an experiment for it.

The experiment would reproduce what the file shows. What the file gives becomes a link, a size, a
window; comments name what it does not give. The programs are httpbed's choice, because the file
does not name those that took part.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from httpbed.addons.explain import explain_report
from httpbed.addons.explain.causes import BY_NAME
from httpbed.addons.explain.explanation import (
    Explained,
    duration_text,
    size_text,
)
from httpbed.addons.explain.foreign import evidence_file, requests
from httpbed.addons.explain.foreign.evidence_file import Evidence, Line
from httpbed.addons.explain.foreign.one_sided import Side
from httpbed.addons.explain.transfer import NS, Transfer
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


def read(path: Path, catalog: Catalog, chosen: str | None, side: Side | None) -> Evidence:
    """Read a file.

    :raises ConfigError: when it cannot be read, or nothing of it can be explained.
    """
    kind, mistakes = evidence_file.kind_of(path), list[Mistake]()
    if side and kind != "capture":
        mistakes.append(Mistake("--side", f"a {kind} says whose it is", "leave it out"))
    with collected(mistakes):
        if kind == "capture":
            evidence = evidence_file.of_capture(path, catalog, chosen, side)
        elif kind == "qlog":
            evidence = evidence_file.of_qlog(path, catalog, chosen)
        else:
            evidence = requests.read(path, kind, chosen)
    require_none(mistakes)
    return evidence


def show(path: Path, evidence: Evidence, experiment: Path | None, form: str) -> None:
    """Print what explains a file, and write the experiment that would reproduce it."""
    if experiment is not None:
        text, lacks = experiment_text(evidence, path.name)
        disk.write_output(experiment, text.encode())
        written = f"{experiment} is written: httpbed run {experiment}"
        evidence = replace(evidence, notes=(*evidence.notes, *lacks, written))
    if form == "json":
        echo(json.dumps(_values(path.name, evidence)))
    elif form == "markdown":
        echo(markdown.render(_document(path.name, evidence)), nl=False)
    else:
        terminal_report.show(_document(path.name, evidence), None, terminal.console())


def _document(name: str, evidence: Evidence) -> Document:
    """Return what explains a file as a document for terminal and Markdown."""
    answer = evidence.answer
    return Document(
        name=name,
        question="Why did it take so long?",
        httpbed=version("httpbed"),
        started="",
        clock="",
        programs=(),
        heading=Facts((("evidence", f"{name}, a {evidence.kind}"), *_lines(evidence.lines))),
        treatments=explain_report.table([answer], whole_treatment),
        answer=(Sentence(". ".join(answer.sentences())),),
        notes=tuple(evidence.notes),
        evidence=(_evidence(answer),),
        sections=(),
    )


def _lines(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(lines[:MAX_LINES], start=1):
        what = f"{one.protocol}, {size_text(one.amount)}, {duration_text(one.lasts)}"
        yield ("has" if number == 1 else "", f"{number:3} {one.name}: {what}")
    if len(lines) > MAX_LINES:
        yield "", f"and {len(lines) - MAX_LINES} more"


def _evidence(answer: Explained) -> str:
    packets = len(answer.transfer.data) + len(answer.transfer.answers)
    count = [f"{packets} packets"] if packets else []
    return f"{answer.trial}: {'; '.join([*count, *answer.transfer.remarks])}"


def _values(name: str, evidence: Evidence) -> dict[str, Any]:
    """Return what explains a file as JSON values."""
    transfer = evidence.answer.transfer
    return {
        "schema": 1,
        "file": name,
        "kind": evidence.kind,
        "connections" if evidence.kind in {"capture", "qlog"} else "requests": [
            {
                "name": line.name,
                "protocol": line.protocol,
                "server_bytes": line.amount,
                "seconds": line.lasts / NS,
            }
            for line in evidence.lines[: 50 * MAX_LINES]
        ],
        "explained": [
            {
                **evidence.answer.values(),
                "remarks": list(transfer.remarks),
                "link": {
                    "rate_bit_s": transfer.path.rate_bit_s,
                    "round_trip_s": transfer.path.round_trip_ns / NS,
                },
            }
        ],
        "causes": {name: cause.meaning for name, cause in BY_NAME.items()},
        "notes": list(evidence.notes),
    }


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


def experiment_text(evidence: Evidence, source: str) -> tuple[str, list[str]]:
    """Return the experiment file, and what it does not reproduce, in sentences.

    :raises ConfigError: when the evidence has no packets.
    """
    explained = evidence.answer
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
        if costs[cause] >= WORTH * whole:
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
