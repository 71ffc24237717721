"""A parser for each kind of output that programs leave; recipes name those of :func:`known`.

Not here: judging a trial as a whole (``trial/verdict``), files of the browser (``addons/pages``).
Start at ``read``; ``untrusted_values`` has the checks that all parsers share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from httpbed.base.addon import refuse_duplicates
from httpbed.programs.parsers.untrusted_values import UNREADABLE, count, reason, seconds
from httpbed.programs.protocol import ADDED_PROGRAMS, LoggedRequest, ProgramReport

Parser = Callable[[Path], ProgramReport]


def _of(module: str, function: str = "parse") -> Parser:
    """Return a parser whose module is imported when it first reads a file."""

    def parse(file: Path) -> ProgramReport:
        parser: Parser = getattr(import_module(module, __name__), function)
        return parser(file)

    return parse


PARSERS: Mapping[str, Parser] = {
    "access-log-json": _of(".access_log"),
    "caddy-json": _of(".access_log", "parse_caddy"),
    "connect-udp-json": _of(".access_log", "parse_tunnels"),
    "curl-json": _of(".curl"),
    "gtlsclient-log": _of(".gtlsclient"),
    "h2load-log": _of(".h2load"),
    "none": lambda _: ProgramReport(),
    "quiche-json": _of(".own_clients", "parse_quiche"),
    "requests-json": _of(".own_clients"),
    "traefik-json": _of(".access_log", "parse_traefik"),
    "wget-log": _of(".wget"),
    "wget2-stats": _of(".wget", "parse_wget2"),
}
"""Parser's name in recipes -> function of the recipe's file; a missing file means no output."""
WITHOUT_REQUESTS = frozenset({"none", "connect-udp-json"})
"""Parsers that never report a request."""


@cache
def known() -> Mapping[str, Parser]:
    """Return all parsers, those of addons included."""
    several = [programs.parsers for programs in ADDED_PROGRAMS.provided()]
    refuse_duplicates("parsers", [*PARSERS, *(name for one in several for name in one)])
    places = {name: place.split(":") for one in several for name, place in one.items()}
    return {**PARSERS, **{name: _of(*place) for name, place in places.items()}}


def read(parser: str, file: Path) -> ProgramReport:
    """Read a program's file; unreadable content and out-of-range numbers become a complaint.

    This function raises nothing, whatever the file contains: a program under test may fail its
    trial, but never the campaign.
    """
    try:
        report = known()[parser](file)
        for request in report.requests:
            _check(request)
        for observation in report.observations:
            seconds(observation.value)
    except UNREADABLE as error:
        return ProgramReport(complaint=f"{file.name} is unreadable: {reason(error)}")
    return report


def _check(request: LoggedRequest) -> None:
    for number in (request.status, request.body_bytes, request.attempts):
        count(number or 0)
    for time in (request.began_s, request.ended_s):
        seconds(time or 0.0)
