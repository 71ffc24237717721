"""Caddy's access log: a JSON object per request, in Caddy's words.

As a proxy, Caddy logs no upstream version, but adds it to the response's field ``Via``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from httpbed.programs.parsers import access_log
from httpbed.programs.protocol import LoggedRequest, ProgramReport

TLS_VERSIONS = {772: "TLSv1.3", 771: "TLSv1.2"}
CIPHERS = {
    4865: "TLS_AES_128_GCM_SHA256",
    4866: "TLS_AES_256_GCM_SHA384",
    4867: "TLS_CHACHA20_POLY1305_SHA256",
}
"""Both tables have the numbers of the IANA registries for TLS."""
VIA = " Caddy"
"""End of the ``Via`` value that Caddy adds last; the HTTP version stands before it."""


def parse(file: Path) -> ProgramReport:
    """Read every line of an access log; an empty log means no requests."""
    return access_log.each_line(file, _request)


def _request(line: dict[str, Any]) -> LoggedRequest:
    request = dict(line["request"])
    tls = dict(request.get("tls") or {})
    header = dict(line.get("resp_headers") or {})
    announced = str(next(iter(header.get("Content-Length") or ()), ""))
    return LoggedRequest(
        http_version=access_log.version(str(request["proto"])),
        status=int(line["status"]),
        body_bytes=int(line["size"]),
        connection=f"{request.get('remote_ip', '')}:{request.get('remote_port', '')}",
        tls_version=TLS_VERSIONS.get(tls.get("version", 0), ""),
        cipher=CIPHERS.get(tls.get("cipher_suite", 0), ""),
        resumed=bool(tls["resumed"]) if "resumed" in tls else None,
        path=str(request.get("uri", "")),
        authority=str(request.get("host", "")),
        upstream_http_version=_upstream(header),
        flags=access_log.flag("", announced, int(line["size"])),
    )


def _upstream(header: dict[str, Any]) -> str:
    """Return the upstream HTTP version; empty if Caddy answered itself."""
    added = [str(one) for one in header.get("Via") or () if str(one).endswith(VIA)]
    return access_log.version(f"HTTP/{added[-1].removesuffix(VIA)}") if added else ""
