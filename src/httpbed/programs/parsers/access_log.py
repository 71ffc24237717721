"""An access log with one JSON object per request, in httpbed's words.

Always ``protocol``, ``status``, ``body_bytes``. If the server logs them: ``connection``,
``tls_version``, ``cipher``, ``resumed`` ("r" or "."), ``early_data`` ("1" or empty), ``method``,
``path``, ``upstream_protocol``, ``flags``, ``attempts``, ``content_length`` (of the response's
header), ``authority``, ``wire_bytes`` (header and body as sent).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.programs.parsers import UNREADABLE, reason
from httpbed.programs.part import LoggedRequest, ProgramReport

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
"""How servers write a missing value."""


def parse(file: Path) -> ProgramReport:
    """Read every line; an empty log means no requests."""
    return each_line(file, _request)


def parse_tunnels(file: Path) -> ProgramReport:
    """Read a log in which each line is a CONNECT-UDP tunnel (RFC 9298), not a client's request.

    A tunnel carries all requests of a connection, encrypted, and ends with a reset. So the report
    has no requests, and a complaint if a tunnel was refused or none was opened.
    """
    log = parse(file)
    refused = [request.status for request in log.requests if request.status != TUNNEL_OPENED]
    complaint = f"a tunnel was refused with status {refused[0]}" if refused else log.complaint
    none = "" if log.requests else "no tunnel was logged"
    return replace(log, requests=(), complaint=complaint or none)


def each_line(file: Path, request: Callable[[dict[str, Any]], LoggedRequest]) -> ProgramReport:
    """Read a log with one JSON object per request; ``request`` reads one object."""
    requests = list[LoggedRequest]()
    try:
        requests.extend(map(request, untrusted_files.json_lines(file)))
    except UNREADABLE as error:
        number = len(requests) + 1
        return ProgramReport(
            complaint=f"line {number} of the access log is unreadable: {reason(error)}"
        )
    return ProgramReport(requests=tuple(requests))


def version(protocol: str) -> str:
    """Return the HTTP version in the words of experiments; an unknown protocol as it is."""
    return PROTOCOLS.get(protocol, protocol)


def flag(own_flag: str, announced: str, body_bytes: int) -> str:
    """Return a program's flag, or ``incomplete`` if the body has not the announced length.

    Some programs log no error for a response that broke off while they forwarded it.
    """
    if own_flag or not announced.isdecimal() or int(announced) == body_bytes:
        return own_flag
    return INCOMPLETE


def _request(line: dict[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        http_version=version(str(line["protocol"])),
        status=int(line["status"]),
        body_bytes=int(line["body_bytes"]),
        connection=_text(line, "connection"),
        tls_version=_text(line, "tls_version"),
        cipher=_text(line, "cipher"),
        resumed={"r": True, ".": False}.get(_text(line, "resumed")),
        early_data=_text(line, "early_data") == "1" if "early_data" in line else None,
        method=_text(line, "method"),
        path=_text(line, "path"),
        authority=_text(line, "authority"),
        wire_bytes=int(_text(line, "wire_bytes")) if _text(line, "wire_bytes") else None,
        upstream_http_version=version(_text(line, "upstream_protocol")),
        flags=flag(_text(line, "flags"), _text(line, "content_length"), int(line["body_bytes"])),
        attempts=int(_text(line, "attempts")) if _text(line, "attempts") else None,
    )


def _text(line: dict[str, Any], key: str) -> str:
    value = str(line.get(key, ""))
    return "" if value in _NOTHING else value


# Caddy's access log: a JSON object per request, in Caddy's words.
#
# As a proxy, Caddy logs no upstream version, but adds it to the response's field ``Via``.


TLS_VERSIONS = {772: "TLSv1.3", 771: "TLSv1.2"}
CIPHERS = {
    4865: "TLS_AES_128_GCM_SHA256",
    4866: "TLS_AES_256_GCM_SHA384",
    4867: "TLS_CHACHA20_POLY1305_SHA256",
}
"""Both tables have the numbers of the IANA registries for TLS."""
VIA = " Caddy"
"""End of the ``Via`` value that Caddy adds last; the HTTP version stands before it."""


def parse_caddy(file: Path) -> ProgramReport:
    """Read every line of an access log; an empty log means no requests."""
    return each_line(file, _caddy_request)


def _caddy_request(line: dict[str, Any]) -> LoggedRequest:
    request = dict(line["request"])
    tls = dict(request.get("tls") or {})
    header = dict(line.get("resp_headers") or {})
    announced = str(next(iter(header.get("Content-Length") or ()), ""))
    return LoggedRequest(
        http_version=version(str(request["proto"])),
        status=int(line["status"]),
        body_bytes=int(line["size"]),
        connection=f"{request.get('remote_ip', '')}:{request.get('remote_port', '')}",
        tls_version=TLS_VERSIONS.get(tls.get("version", 0), ""),
        cipher=CIPHERS.get(tls.get("cipher_suite", 0), ""),
        resumed=bool(tls["resumed"]) if "resumed" in tls else None,
        path=str(request.get("uri", "")),
        authority=str(request.get("host", "")),
        upstream_http_version=_upstream(header),
        flags=flag("", announced, int(line["size"])),
    )


def _upstream(header: dict[str, Any]) -> str:
    """Return the upstream HTTP version; empty if Caddy answered itself."""
    added = [via for via in map(str, header.get("Via") or ()) if via.endswith(VIA)]
    return version(f"HTTP/{added[-1].removesuffix(VIA)}") if added else ""


# Traefik's access log: a JSON object per request, without upstream's HTTP version.


def parse_traefik(file: Path) -> ProgramReport:
    """Read every line of an access log; an empty log means no requests."""
    return each_line(file, _traefik_request)


def _traefik_request(line: dict[str, Any]) -> LoggedRequest:
    body_bytes = int(line["DownstreamContentSize"])
    tls_version = _text(line, "TLSVersion")
    return LoggedRequest(
        http_version=version(str(line["RequestProtocol"])),
        status=int(line["DownstreamStatus"]),
        body_bytes=body_bytes,
        connection=_text(line, "ClientAddr"),
        tls_version=f"TLSv{tls_version}" if tls_version else "",
        cipher=_text(line, "TLSCipher"),
        path=_text(line, "RequestPath"),
        authority=_text(line, "RequestHost"),
        flags=flag("", _text(line, "downstream_Content-Length"), body_bytes),
        attempts=int(line["RetryAttempts"]) + 1 if "RetryAttempts" in line else None,
    )
