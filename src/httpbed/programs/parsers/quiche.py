"""What httpbed-quiche says of its fetch: one JSON object, times in seconds since its start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from httpbed.experiment.metric import Observation
from httpbed.host.sandbox import untrusted_files
from httpbed.programs.parsers import migration_events
from httpbed.programs.parsers.untrusted_values import UNREADABLE, seconds
from httpbed.programs.protocol import LoggedRequest, ProgramReport

TIMES = {
    "client_total_time": "close",
    "client_handshake_time": "handshake",
    "time_to_first_byte": "first_byte",
}
"""Metric -> the program's word."""
_NOTHING = "httpbed-quiche printed nothing"


def parse(file: Path) -> ProgramReport:
    """Read the object; there is none when it was killed."""
    try:
        text = untrusted_files.text(file, errors="strict")
        if not text.strip():
            return ProgramReport(complaint=_NOTHING)
        said = json.loads(text)
        streams = [dict(stream) for stream in said["streams"]]
        return ProgramReport(
            observations=tuple(_observations(said["times"])),
            requests=tuple(_request(said, stream) for stream in streams if stream["status"]),
            complaint=str(said["error"] or ""),
            # A report without them is an older program's.
            path_events=migration_events.events(said.get("clock_ns"), said.get("path_events", ())),
            migrations=migration_events.migrations(said["migrations"])
            if "migrations" in said
            else None,
        )
    except FileNotFoundError:
        return ProgramReport(complaint=_NOTHING)
    except UNREADABLE as error:
        return ProgramReport(complaint=f"httpbed-quiche printed what is not its own: {error!r}")


def _observations(times: Mapping[str, Any]) -> Iterator[Observation]:
    for metric, word in TIMES.items():
        if times[word] is not None:
            yield Observation(metric=metric, value=seconds(times[word]), source="client")


def _request(said: Mapping[str, Any], stream: Mapping[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        http_version=str(stream["http_version"]),
        status=int(stream["status"]),
        body_bytes=int(stream["bytes"]),
        connection="1",
        tls_version=str(said["tls_version"]),
        cipher=str(said["cipher"]),
        resumed=bool(said["resumed"]),
        early_data=bool(said["early_data"]),
        path="/" + str(stream["url"]).split("/", 3)[-1],
        began_s=seconds(stream["began"]),
        ended_s=None if stream["ended"] is None else seconds(stream["ended"]),
    )
