"""An access log with one JSON object per request, in the words of this project.

Always ``protocol``, ``status``, ``body_bytes``; and where the server tells: ``connection``,
``tls_version``, ``cipher``, ``resumed`` ("r" or "."), ``early_data`` ("1" or empty), ``path``,
``upstream_protocol``, ``flags``, ``attempts``, ``content_length`` (which the header announced),
``authority``, ``wire_bytes`` (header and body as sent).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpbed.host.sandbox import untrusted_files
from httpbed.programs.parsers.untrusted_values import UNREADABLE
from httpbed.programs.protocol import LoggedRequest, ProgramReport

PROTOCOLS = {
    "HTTP/1.1": "1.1",
    "HTTP/2": "2",
    "HTTP/2.0": "2",
    "HTTP/3": "3",
    "HTTP/3.0": "3",
}
INCOMPLETE = "incomplete"
TUNNEL_OPENED = 200
_NOTHING = {"", "-"}
"""How servers write that there is no value."""


def parse(file: Path) -> ProgramReport:
    """Read every line; a server that logged nothing answered nothing."""
    return each_line(file, _request)


def parse_tunnels(file: Path) -> ProgramReport:
    """Read a log in which each line is a CONNECT-UDP tunnel (RFC 9298), not a client's request.

    A tunnel carries all requests of a connection, encrypted, and ends with a reset. So the report
    has no requests, and a complaint if a tunnel was refused or none was opened.
    """
    log = parse(file)
    refused = [one.status for one in log.requests if one.status != TUNNEL_OPENED]
    complaint = f"a tunnel was refused with status {refused[0]}" if refused else log.complaint
    none = "" if log.requests else "no tunnel was logged"
    return replace(log, requests=(), complaint=complaint or none)


def each_line(file: Path, request: Callable[[dict[str, Any]], LoggedRequest]) -> ProgramReport:
    """Read a log with a JSON object per request, of which ``request`` knows the words."""
    try:
        lines = untrusted_files.text(file).splitlines()
    except FileNotFoundError:
        return ProgramReport(complaint="the server wrote no access log")
    except untrusted_files.UnreadableError as error:
        return ProgramReport(complaint=f"the access log is unreadable: {error}")
    requests = []
    for number, line in enumerate(lines, start=1):
        try:
            requests.append(request(json.loads(line)))
        except UNREADABLE as error:
            return ProgramReport(
                complaint=f"line {number} of the access log is unreadable: {error!r}"
            )
    return ProgramReport(requests=tuple(requests))


def version(protocol: str) -> str:
    """Name a protocol as experiment files do; one that they do not know is told as it was."""
    return PROTOCOLS.get(protocol, protocol)


def flag(said: str, announced: str, body_bytes: int) -> str:
    """Return a program's own flag, or ours for a body of another length than was announced.

    Some programs find nothing wrong with an answer that broke off while they passed it on.
    """
    if said or not announced.isdecimal() or int(announced) == body_bytes:
        return said
    return INCOMPLETE


def _request(said: dict[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        http_version=version(str(said["protocol"])),
        status=int(said["status"]),
        body_bytes=int(said["body_bytes"]),
        connection=_text(said, "connection"),
        tls_version=_text(said, "tls_version"),
        cipher=_text(said, "cipher"),
        resumed={"r": True, ".": False}.get(_text(said, "resumed")),
        early_data=_text(said, "early_data") == "1" if "early_data" in said else None,
        path=_text(said, "path"),
        authority=_text(said, "authority"),
        wire_bytes=int(_text(said, "wire_bytes")) if _text(said, "wire_bytes") else None,
        upstream_http_version=version(_text(said, "upstream_protocol")),
        flags=flag(_text(said, "flags"), _text(said, "content_length"), int(said["body_bytes"])),
        attempts=int(_text(said, "attempts")) if _text(said, "attempts") else None,
    )


def _text(said: dict[str, Any], key: str) -> str:
    value = str(said.get(key, ""))
    return "" if value in _NOTHING else value
