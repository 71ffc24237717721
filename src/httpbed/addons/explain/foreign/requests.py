"""Divides the requests of a HAR file, or of a netlog of Chrome: what a browser wrote down of each.

A browser notes phases, no packets. Set-up and the wait before it are known. The wait for an answer
is a round trip and the server; a TCP handshake of the same host gives the round trip, without one
the wait is unknown. Why a body took its time is unknown, too: that needs packets or a qlog.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from httpbed.addons.explain.explanation import Explained, Place
from httpbed.addons.explain.foreign.evidence_file import Evidence, Kind, Line
from httpbed.addons.explain.periods import Division, Period
from httpbed.addons.explain.transfer import NS, NetworkPath, Sent, Transfer
from httpbed.addons.pages.har import har_file
from httpbed.addons.pages.load.browser_load import name_of
from httpbed.base.errors import ConfigError, Mistake

MS = 1_000_000
MAX_LINE = 2**24
"""Bytes of an event of a netlog."""
MAX_REQUESTS = 100_000
LACKS = "a browser's log has no packets: why the bodies took their time is unknown"
NO_TIMINGS = "has no timings: export it with timings, or capture packets"


@dataclass(frozen=True)
class Request:
    """A request with its phases in ns, in their order."""

    url: str
    protocol: str
    begin: int
    """Since the first request."""
    phases: Sequence[tuple[str, int]]
    """Causes, or ``wait`` for the answer's first byte, with their times."""
    round_trip: int | None
    """Of a TCP handshake, if it made one."""
    body: int

    @property
    def lasts(self) -> int:
        """Time of all phases."""
        return sum(time for _, time in self.phases)

    @property
    def host(self) -> str:
        """The server's name."""
        return urlsplit(self.url).netloc


def read(path: Path, kind: Kind, chosen: str | None) -> Evidence:
    """Explain a request of a HAR file or a netlog: the one that ``chosen`` names, or the longest.

    :raises ConfigError: when the file is damaged, or has no such request.
    """
    try:
        known = [*(_of_har(path) if kind == "HAR" else _of_netlog(path))]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"is a damaged {kind} file: {type(error).__name__}: {error}"
        raise ConfigError([Mistake(str(path), reason)]) from None
    if not known:
        raise ConfigError([Mistake(str(path), "has no request that ended")])
    known.sort(key=lambda request: -request.lasts)
    one = _chosen(known, chosen)
    lines = [Line(each.url, each.protocol, each.body, each.lasts) for each in known]
    if not one.lasts:
        raise ConfigError([Mistake(str(path), f"{one.url}: {NO_TIMINGS}")])
    answer = _explained(one, _round_trip(known, one))
    notes = [LACKS, *_together(known)]
    return Evidence(kind, lines, answer, notes)


def _chosen(known: Sequence[Request], word: str | None) -> Request:
    if word is None:
        return known[0]
    if word.isdecimal() and 1 <= int(word) <= len(known):
        return known[int(word) - 1]
    fitting = [request for request in known if word in request.url]
    if len(fitting) == 1:
        return fitting[0]
    reason = (
        f"{word!r} is part of {len(fitting)} addresses" if fitting else f"no address has {word!r}"
    )
    raise ConfigError(
        [Mistake("--connection", reason, f"give a number from 1 to {len(known)}, or an address")]
    )


def _round_trip(known: Sequence[Request], one: Request) -> int | None:
    """Return the shortest TCP handshake with a request's host."""
    times = [each.round_trip for each in known if each.host == one.host and each.round_trip]
    return min(times, default=None)


def _together(known: Sequence[Request]) -> Iterator[str]:
    if len(known) > 1:
        begin, end = (
            min(request.begin for request in known),
            max(request.begin + request.lasts for request in known),
        )
        yield f"{len(known)} requests within {(end - begin) / NS:.3g} s; one of them is explained"


def _explained(request: Request, round_trip: int | None) -> Explained:
    place = Place(0, request.url, {"request": request.url}, 1)
    periods, divided_to = list[Period](), 0
    for cause, lasts in _causes(request, round_trip):
        if lasts > 0:
            periods.append(Period(divided_to, divided_to + lasts, cause, "inferred"))
            divided_to += lasts
    division = Division(tuple(periods), tuple(periods), None)
    remarks = (f"a round trip of {round_trip / MS:.3g} ms, by a handshake",) if round_trip else ()
    nothing = _no_packets(divided_to, round_trip, remarks)
    return Explained(
        **vars(place), outcome="completed", division=division, held=None, transfer=nothing
    )


def _causes(one: Request, round_trip: int | None) -> Iterator[tuple[str, int]]:
    for cause, lasts in one.phases:
        if cause != "wait":
            yield cause, lasts
        elif round_trip is None:
            yield "unknown", lasts
        else:
            way = min(lasts, round_trip)
            yield "path", way
            yield "server", lasts - way


def _no_packets(ended: int, round_trip: int | None, remarks: tuple[str, ...]) -> Transfer:
    empty = np.zeros(0, dtype=np.int64)
    nothing = Sent(**dict.fromkeys(Sent.__annotations__, empty))
    return Transfer(
        protocol="tcp",
        data=nothing,
        answers=nothing,
        others=(empty, empty),
        path=NetworkPath(None, round_trip or 0),
        body_bytes=0,
        reaction_ns=0,
        ended=ended,
        remarks=remarks,
    )


def _of_har(path: Path) -> Iterator[Request]:
    entries = har_file.read_file(path).entries
    first_s = min((entry.requested_at for entry in entries), default=0.0)
    for entry in entries:
        times = entry.timings
        handshake_s = (times.connect or 0.0) - (times.ssl or 0.0)  # connect contains ssl
        phases = {
            "client": times.blocked,
            "set-up": (times.dns or 0.0) + (times.connect or 0.0),
            "path": times.send,
            "wait": times.wait,
            "unknown": times.receive,
        }
        yield Request(
            entry.url,
            name_of(entry.http_version),
            round((entry.requested_at - first_s) * NS),
            [(cause, round((lasts_s or 0.0) * NS)) for cause, lasts_s in phases.items()],
            round(handshake_s * NS) if entry.http_version != "3" and handshake_s > 0 else None,
            entry.sent_body_bytes or 0,
        )


# Chrome's netlog: an object of constants, and one event in each line

_NEEDED = {
    "URL_REQUEST_START_JOB": "url",
    "HTTP_STREAM_REQUEST": "set-up",
    "HTTP_TRANSACTION_SEND_REQUEST": "path",
    "HTTP_TRANSACTION_READ_HEADERS": "wait",
    "HTTP_TRANSACTION_READ_BODY": "unknown",
    "URL_REQUEST_JOB_BYTES_READ": "bytes",
    "URL_REQUEST_JOB_FILTERED_BYTES_READ": "bytes",
    "REQUEST_ALIVE": "whole",
}
_BEGIN, _END = 1, 2


@dataclass
class _Source:
    url: str = ""
    body: int = 0
    times: dict[str, list[int]] = field(default_factory=dict)

    def note(self, name: str, phase: int, time_ns: int) -> None:
        pair = self.times.setdefault(name, [-1, -1])
        if phase == _BEGIN and pair[0] < 0:
            pair[0] = time_ns
        elif phase == _END:
            pair[1] = time_ns


def _of_netlog(path: Path) -> Iterator[Request]:
    sources = dict[int, _Source]()
    for name, event in _events(path):
        source = event.get("source", {}).get("id")
        meaning = _NEEDED[name]
        if not isinstance(source, int) or len(sources) > MAX_REQUESTS:
            continue
        entry = sources.setdefault(source, _Source())
        words = event.get("params") or {}
        entry.url = entry.url or str(words.get("url") or "")
        if meaning == "bytes":
            entry.body += int(words.get("byte_count") or 0)
        at = int(event["time"]) * MS
        entry.note(meaning, int(event.get("phase", 0)), at)
    found = [entry for entry in sources.values() if entry.url.startswith("http") and entry.times]
    first = min(
        (entry.times["whole"][0] for entry in found if "whole" in entry.times),
        default=0,
    )
    for entry in found:
        if (request := _of_source(entry, first)) is not None:
            yield request


def _of_source(source: _Source, first: int) -> Request | None:
    times = source.times
    begin, end = times.get("whole", (-1, -1))
    if begin < 0 or end < begin:
        return None
    marks, divided_to = list[tuple[str, int]](), begin
    for cause in ("set-up", "path", "wait"):
        start, stop = times.get(cause, (-1, -1))
        if start >= divided_to and stop >= start:
            # Until it begins the browser has other things to do.
            marks += [("client", start - divided_to), (cause, stop - start)]
            divided_to = stop
    marks.append(("unknown", end - divided_to))
    return Request(source.url, "", begin - first, marks, None, source.body)


def _events(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events that are needed with their names; one that is cut off ends the file."""
    names, decoder = dict[int, str](), json.JSONDecoder()
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(MAX_LINE):
            if not names:
                names = _names(line)
                continue
            try:
                values, _ = decoder.raw_decode(line.lstrip())
                kind = values.get("type")
            except (ValueError, AttributeError):
                continue  # it is no event, or cut off
            name = names.get(kind)
            if name is not None:
                yield name, values


def _names(line: str) -> dict[int, str]:
    if '"logEventTypes"' not in line:
        return {}
    text = line.strip().rstrip(",")
    constants = json.loads(text + "}" if text.startswith('{"constants"') else "{" + text + "}")
    types = constants.get("constants", constants)["logEventTypes"]
    return {number: name for name, number in types.items() if name in _NEEDED}
