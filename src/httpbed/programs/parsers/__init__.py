"""A parser for each kind of output that programs leave; recipes name those of :func:`known`.

Not here: judging a trial as a whole (``trial/verdict``), files of the browser (``addons/pages``).
Start at :func:`read`. The output may contain anything, so all numbers in it are checked here.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from httpbed.base import untrusted_files
from httpbed.base.addon import load, refuse_duplicates
from httpbed.programs.part import LoggedRequest, ProgramReport
from httpbed.programs.shipped_programs import ADDED_PROGRAMS

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    csv.Error,
)
"""What reading such output may raise; parsers turn it into a complaint."""
LONGEST_S = 1e11
"""About 3,000 years: curl counts from 1970, and sums of such times are finite."""
MAX_COUNT = 2**63 - 1
"""Larger counts are rejected."""
VERSIONS = {"http/1.1": "1.1", "h2": "2", "h3": "3"}
"""HTTP version by the name that TLS negotiates for it (ALPN, RFC 7301)."""


def reason(error: Exception) -> str:
    """Say what made output unreadable; a key that is missing is named."""
    return f"it has no {error.args[0]}" if isinstance(error, KeyError) else repr(error)


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file; none if the file is missing.

    Raises:
        UnreadableError: The file exists but cannot be read.
    """
    try:
        return list(untrusted_files.lines(file))
    except (FileNotFoundError, EOFError):
        return []


def path_of(url: str) -> str:
    """Return the path of a URL, with its query."""
    return "/" + url.split("/", 3)[-1]


def seconds(logged: object) -> float:
    """Return a time in seconds.

    Raises:
        ValueError: It is not a number, or longer than ``LONGEST_S``.
    """
    value = float(logged) if isinstance(logged, int | float | str) else math.nan
    if not abs(value) <= LONGEST_S:
        msg = f"{logged!r} is not a time"
        raise ValueError(msg)
    return value


def count(logged: object) -> int:
    """Return a count, such as a number of bytes.

    Raises:
        ValueError: It is not a whole number from 0 to ``MAX_COUNT``.
        OverflowError: It is infinite.
    """
    value = int(logged) if isinstance(logged, int | float | str) else -1
    if not 0 <= value <= MAX_COUNT:
        msg = f"{logged!r} is not a count"
        raise ValueError(msg)
    return value


class Parser(NamedTuple):
    """A function that reads a program's file; its module is imported when it first reads one."""

    place: str
    """``module:function``; it may raise :data:`UNREADABLE`, and EOFError if the file is empty."""
    absent: str = ""
    """The complaint if there is no file, or an empty one; by default its name is given."""


def _own(function: str, absent: str) -> Parser:
    return Parser(f"{__name__}.{function}", absent)


NONE = "none"
"""The parser that reads nothing."""
PARSERS: Mapping[str, Parser] = {
    NONE: Parser(""),
    "access-log-json": _own("access_log:parse", "the server wrote no access log"),
    "caddy-json": _own("access_log:parse_caddy", "the server wrote no access log"),
    "connect-udp-json": _own("access_log:parse_tunnels", "the server wrote no access log"),
    "curl-json": _own("curl:parse", "curl printed nothing"),
    "gtlsclient-log": _own("gtlsclient:parse", "gtlsclient printed nothing"),
    "h2load-log": _own("h2load:parse", "h2load printed nothing"),
    "quiche-json": _own("own_clients:parse_quiche", "httpbed-quiche printed nothing"),
    "requests-json": _own("own_clients:parse", "the client printed nothing"),
    "traefik-json": _own("access_log:parse_traefik", "the server wrote no access log"),
    "wget-log": _own("wget:parse", "wget printed nothing"),
    "wget2-stats": _own("wget:parse_wget2", "wget2 wrote no statistics"),
}
"""By the name in recipes."""
WITHOUT_REQUESTS = frozenset({NONE, "connect-udp-json"})
"""Parsers that never report a request."""


@cache
def known() -> Mapping[str, Parser]:
    """Return all parsers, those of addons included."""
    added = [
        (name, Parser(place))
        for programs in ADDED_PROGRAMS.provided()
        for name, place in programs.parsers.items()
    ]
    refuse_duplicates("parsers", [*PARSERS, *(name for name, _ in added)])
    return {**PARSERS, **dict(added)}


def read(parser: str, file: Path) -> ProgramReport:
    """Read a program's file; unreadable content and out-of-range numbers become a complaint.

    This function raises nothing, whatever the file contains: a program under test may fail its
    trial, but never the campaign.
    """
    if parser == NONE:
        return ProgramReport()
    place, absent = known()[parser]
    parse: Callable[[Path], ProgramReport] = load(place)
    try:
        report = parse(file)
        for request in report.requests:
            _check(request)
        for observation in report.observations:
            seconds(observation.value)
    except (FileNotFoundError, EOFError):
        return ProgramReport(complaint=absent or f"{file.name} is missing")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"{file.name} is unreadable: {reason(error)}")
    return report


def _check(request: LoggedRequest) -> None:
    for number in (request.status, request.body_bytes, request.attempts):
        count(number or 0)
    for time in (request.began_s, request.ended_s):
        seconds(time or 0.0)
