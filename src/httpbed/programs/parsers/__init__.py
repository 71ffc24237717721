"""In: a parser for each kind of output that programs leave; recipes name parsers in ``PARSERS``.

Not in: parsing for a trial as a whole (``trial/observe``), files of the browser (``web/load``).
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
"""Each takes the file that a recipe names; an absent one means that the program said nothing."""
OF_NO_REQUEST = frozenset({"none", "connect-udp-json"})
"""Those that never find a request."""


def read(parser: str, file: Path) -> ProgramReport:
    """Read what a program left; numbers that nothing can be reckoned with are its mistake.

    Whatever it wrote, this raises nothing: what a program under test does ends its trial, and never
    a campaign.
    """
    try:
        found = PARSERS[parser](file)
        for request in found.requests:
            _check(request)
        for observation in found.observations:
            seconds(observation.value)
    except UNREADABLE as error:
        return ProgramReport(complaint=f"{file.name} is not to be understood: {error!r}")
    return found


def _check(request: LoggedRequest) -> None:
    for number in (request.status, request.body_bytes, request.attempts):
        count(number or 0)
    for time in (request.began_s, request.ended_s):
        seconds(time or 0.0)
