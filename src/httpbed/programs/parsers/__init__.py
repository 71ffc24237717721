"""A parser for each kind of output that programs leave; recipes name parsers in ``PARSERS``.

Not here: parsing for a trial as a whole (``trial/observe``), files of the browser (``web/load``).
Start at ``read``; ``untrusted_values`` has the checks that all parsers share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from httpbed.programs.parsers import (
    access_log,
    caddy,
    chromium,
    curl,
    gtlsclient,
    h2load,
    quiche,
    requests_json,
    wget,
    wget2,
)
from httpbed.programs.parsers.untrusted_values import UNREADABLE, count, seconds
from httpbed.programs.protocol import LoggedRequest, ProgramReport

PARSERS: Mapping[str, Callable[[Path], ProgramReport]] = {
    "access-log-json": access_log.parse,
    "caddy-json": caddy.parse,
    "chromium-load": chromium.parse,
    "connect-udp-json": access_log.parse_tunnels,
    "curl-json": curl.parse,
    "gtlsclient-log": gtlsclient.parse,
    "h2load-log": h2load.parse,
    "none": lambda _: ProgramReport(),
    "quiche-json": quiche.parse,
    "requests-json": requests_json.parse,
    "wget-log": wget.parse,
    "wget2-stats": wget2.parse,
}
"""Parser's name in recipes -> function of the recipe's file; a missing file means no output."""
WITHOUT_REQUESTS = frozenset({"none", "connect-udp-json"})
"""Parsers that never report a request."""


def read(parser: str, file: Path) -> ProgramReport:
    """Read a program's file; unreadable content and out-of-range numbers become a complaint.

    This function raises nothing, whatever the file contains: a program under test may fail its
    trial, but never the campaign.
    """
    try:
        report = PARSERS[parser](file)
        for request in report.requests:
            _check(request)
        for observation in report.observations:
            seconds(observation.value)
    except UNREADABLE as error:
        return ProgramReport(complaint=f"{file.name} is unreadable: {error!r}")
    return report


def _check(request: LoggedRequest) -> None:
    for number in (request.status, request.body_bytes, request.attempts):
        count(number or 0)
    for time in (request.began_s, request.ended_s):
        seconds(time or 0.0)
