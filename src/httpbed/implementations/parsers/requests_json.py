"""What our own clients print: a line with an object for each file, in the words of the seam.

Its last line may be ``{"error": "..."}`` instead: why nothing more came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from httpbed.implementations.parsers.reading import UNREADABLE, seconds
from httpbed.implementations.protocol import Findings, Request
from httpbed.model.metric import Observation
from httpbed.process import left


def parse(file: Path) -> Findings:
    """Read every line; there is none when the client was killed."""
    try:
        lines = [json.loads(line) for line in left.text(file, errors="strict").splitlines()]
        told = [dict(line) for line in lines if "error" not in line]
        errors = [str(line["error"]) for line in lines if "error" in line]
        requests = tuple(_request(said) for said in told)
        observations = tuple(_observations(told)) if told else ()
    except FileNotFoundError:
        return Findings(complaint="the client printed nothing")
    except UNREADABLE as error:
        return Findings(complaint=f"the client printed what is not its own: {error!r}")
    if not lines:
        errors = ["the client printed nothing"]
    return Findings(observations, requests, "; ".join(errors))


def _request(said: dict[str, Any]) -> Request:
    return Request(
        http_version=str(said["http_version"]),
        status=int(said["status"]),
        body_bytes=int(said["body_bytes"]),
        connection=str(said.get("connection", "")),
        tls_version=str(said.get("tls_version", "")),
        cipher=str(said.get("cipher", "")),
        resumed=_flag(said.get("resumed")),
        early_data=_flag(said.get("early_data")),
        path=str(said.get("path", "")),
        began_s=seconds(said["began_s"]),
        ended_s=seconds(said["ended_s"]),
    )


def _flag(said: object) -> bool | None:
    return said if isinstance(said, bool) else None


def _observations(told: list[dict[str, Any]]) -> Iterator[Observation]:
    values = {
        "client_total_time": max(seconds(said["ended_s"]) for said in told),
        "client_handshake_time": told[0].get("handshake_s"),
        "time_to_first_byte": min(
            (seconds(said["first_byte_s"]) for said in told if said.get("first_byte_s")),
            default=None,
        ),
    }
    for metric, value in values.items():
        if value is not None:
            yield Observation(metric=metric, value=seconds(value), source="client")
