"""One request by curl: its command line, and what curl reports of it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from httpbed.addons.field.target import Target
from httpbed.experiment.roles import HttpVersion
from httpbed.programs.part import authority

CONNECT_S, REQUEST_S = 10.0, 30.0
"""Time limits of the connection's handshake, and of a whole request."""
FLAGS: Mapping[str, str] = {"1.1": "--http1.1", "2": "--http2", "3": "--http3-only"}
CERTIFICATES = "/etc/httpbed/authorities.pem"
"""Where curl sees the certificates of the authorities that it trusts."""
HEADERS = ("alt-svc", "server", "age", "x-cache", "cf-cache-status", "location")
"""The header fields that are kept."""
MAX_HEADER_CHARACTERS = 300
_ACCOUNT = '{"transfer":%{json},"headers":%{header_json}}\n'
_NO_ANSWER = 0
OK, REDIRECTION, CLIENT_ERROR = 200, 300, 400
TOO_MANY, UNAVAILABLE = 429, 503
_TIMED_OUT, _UNTRUSTED, _TOO_LONG = 28, 60, 63
"""Exit codes of curl."""


@dataclass(frozen=True)
class Outcome:
    """What came of one request."""

    block: int
    """From 1 on; 0 is the first look at the URL, whose times are in no figure."""
    http_version: str
    """The version that was asked for."""
    failure: str = ""
    """Why it failed; empty if it did not. The times of a failed request are not used."""
    got_version: str = ""
    """The version of the response; empty without one."""
    status: int = _NO_ANSWER
    address: str = ""
    """The address that curl was connected to."""
    tcp_handshake_s: float | None = None
    """From SYN to the end of the TCP handshake; None over QUIC."""
    handshake_s: float | None = None
    """Until TLS, over TCP or in QUIC, is done."""
    first_byte_s: float | None = None
    request_s: float | None = None
    """Until the last byte. All times begin when curl opens the connection."""
    bytes: int = 0
    """Length of the body."""
    is_censored: bool = False
    """Whether the response was still arriving at the time limit."""
    is_too_long: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_success(self) -> bool:
        """Whether the status says so."""
        return OK <= self.status < REDIRECTION

    @property
    def asks_for_fewer(self) -> bool:
        """Whether the server says that there are too many requests."""
        return self.status in (TOO_MANY, UNAVAILABLE)


def words(target: Target, version: HttpVersion, most_bytes: int, agent: str) -> tuple[str, ...]:
    """Return curl's command line. It follows no redirect and ignores settings and proxies."""
    to = authority(str(target.address))
    return (
        *("curl", "--disable", "--globoff", "--proto", "=https", "--noproxy", "*"),
        *(FLAGS[version], "--connect-to", f"::{to}:{target.url.port}"),
        *("--cacert", CERTIFICATES, "--user-agent", agent),
        *("--connect-timeout", f"{CONNECT_S:g}", "--max-time", f"{REQUEST_S:g}"),
        *("--max-filesize", str(most_bytes), "--silent", "--output", "/dev/null"),
        *("--write-out", _ACCOUNT, "--url", target.url.text),
    )


def read(text: str, block: int, version: HttpVersion, target: Target) -> Outcome:
    """Read what curl reported."""
    try:
        account = json.loads(text)
        transfer, headers = account["transfer"], account["headers"]
        outcome = Outcome(
            block,
            version,
            got_version=str(transfer["http_version"]) if transfer["response_code"] else "",
            status=int(transfer["response_code"]),
            address=str(transfer["remote_ip"]),
            bytes=int(transfer["size_download"]),
            headers=_kept(headers),
            tcp_handshake_s=None if version == "3" else _since_start(transfer, "time_connect"),
            handshake_s=_since_start(transfer, "time_appconnect"),
            first_byte_s=_since_start(transfer, "time_starttransfer"),
            request_s=_since_start(transfer, "time_total"),
        )
        code, message = int(transfer["exitcode"]), str(transfer["errormsg"] or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return Outcome(block, version, "curl reported nothing that can be read")
    return _judged(outcome, code, message, target)


def _since_start(transfer: Mapping[str, Any], name: str) -> float | None:
    """Return a time since curl looked up the address, which it knows; None if it never came."""
    seconds = float(transfer[name])
    return seconds - float(transfer["time_namelookup"]) if seconds > 0 else None


def _kept(headers: Mapping[str, Any]) -> dict[str, str]:
    named = {name: ", ".join(map(str, headers[name])) for name in HEADERS if name in headers}
    return {name: text[:MAX_HEADER_CHARACTERS] for name, text in named.items()}


def _judged(outcome: Outcome, code: int, message: str, target: Target) -> Outcome:
    """Return the outcome with the reason for which it counts as failed, if there is one."""
    failure, is_censored = "", False
    if code == _TIMED_OUT and outcome.handshake_s:
        failure = f"not finished within {REQUEST_S:g} s"
        is_censored = outcome.got_version == outcome.http_version and outcome.is_success
    elif code == _TIMED_OUT:
        blocked = ": UDP may be blocked on the path" if outcome.http_version == "3" else ""
        failure = f"no connection within {CONNECT_S:g} s{blocked}"
    elif code == _UNTRUSTED:
        failure = f"{message}; --cacert FILE trusts an authority of yours"
    elif code:
        failure = message or f"curl's exit code {code}"
    elif outcome.got_version != outcome.http_version:
        failure = f"HTTP/{outcome.got_version} in place of HTTP/{outcome.http_version}"
    elif not outcome.is_success:
        failure = f"status {outcome.status}"
    elif outcome.address != str(target.address):
        failure = f"connected to {outcome.address} in place of {target.address}"
    return replace(outcome, failure=failure, is_censored=is_censored, is_too_long=code == _TOO_LONG)
