"""Caddy's access log: a JSON object per request, in Caddy's words.

As a proxy it does not log what it spoke upstream, but writes it into the answer's field ``Via``.
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
"""Both by their numbers in the registries of TLS."""
VIA = " Caddy"
"""What follows the version in the field that Caddy adds, as the last of its kind."""


def parse(file: Path) -> ProgramReport:
    """Read every line of an access log; a server that logged nothing answered nothing."""
    return access_log.each_line(file, _request)


def _request(said: dict[str, Any]) -> LoggedRequest:
    asked = dict(said["request"])
    tls = dict(asked.get("tls") or {})
    answer = dict(said.get("resp_headers") or {})
    announced = str(next(iter(answer.get("Content-Length") or ()), ""))
    return LoggedRequest(
        http_version=access_log.version(str(asked["proto"])),
        status=int(said["status"]),
        body_bytes=int(said["size"]),
        connection=f"{asked.get('remote_ip', '')}:{asked.get('remote_port', '')}",
        tls_version=TLS_VERSIONS.get(tls.get("version", 0), ""),
        cipher=CIPHERS.get(tls.get("cipher_suite", 0), ""),
        resumed=bool(tls["resumed"]) if "resumed" in tls else None,
        path=str(asked.get("uri", "")),
        authority=str(asked.get("host", "")),
        upstream_http_version=_upstream(answer),
        flags=access_log.flag("", announced, int(said["size"])),
    )


def _upstream(header: dict[str, Any]) -> str:
    """Return what was spoken upstream; empty where Caddy answered itself."""
    added = [str(one) for one in header.get("Via") or () if str(one).endswith(VIA)]
    return access_log.version(f"HTTP/{added[-1].removesuffix(VIA)}") if added else ""
