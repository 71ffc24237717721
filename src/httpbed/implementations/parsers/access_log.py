"""An access log with one JSON object per request: ``protocol``, ``status``, ``body_bytes``."""

from __future__ import annotations

import json
from pathlib import Path

from httpbed.implementations.protocol import Findings, Request

PROTOCOLS = {"HTTP/1.1": "1.1", "HTTP/2.0": "2", "HTTP/3.0": "3"}


def parse(file: Path) -> Findings:
    """Read every line; a server that logged nothing answered nothing."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return Findings(complaint="the server wrote no access log")
    requests = []
    for number, line in enumerate(lines, start=1):
        try:
            said = json.loads(line)
            protocol = str(said["protocol"])
            version = PROTOCOLS.get(protocol, protocol)
            requests.append(Request(version, int(said["status"]), int(said["body_bytes"])))
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            return Findings(complaint=f"line {number} of the access log is unreadable: {error!r}")
    return Findings(requests=tuple(requests))
