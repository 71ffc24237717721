"""What ``curl --write-out '%{json}'`` prints: one object, times in seconds from curl's start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from httpbed.implementations.protocol import Findings, Request
from httpbed.model.metric import Observation

TIMES = {
    "client_total_time": "time_total",
    "client_connect_time": "time_connect",
    "client_handshake_time": "time_appconnect",
    "time_to_first_byte": "time_starttransfer",
}
"""Metric -> curl's field (curl(1), --write-out)."""


def parse(file: Path) -> Findings:
    """Read the object; curl leaves none when it is killed."""
    try:
        return _findings(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Findings(complaint="curl printed nothing")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        return Findings(complaint=f"curl printed no JSON of its own: {error}")


def _findings(said: dict[str, Any]) -> Findings:
    observations = tuple(
        Observation(metric=metric, value=said[field], source="client")
        for metric, field in TIMES.items()
        if said.get(field) and not (metric == "time_to_first_byte" and not _answered(said))
    )
    complaint = said.get("errormsg") or ""
    return Findings(observations, (_request(said),), str(complaint))


def _answered(said: dict[str, Any]) -> bool:
    """Tell whether a response began: without one curl gives its end as the first byte's time."""
    return bool(said.get("response_code"))


def _request(said: dict[str, Any]) -> Request:
    return Request(
        http_version=str(said.get("http_version", "unknown")),
        status=int(said.get("response_code", 0)),
        body_bytes=int(said.get("size_download", 0)),
    )
