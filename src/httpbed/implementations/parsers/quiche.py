"""What httpbed-quiche says of its fetch: one JSON object, times in seconds since its start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from httpbed.implementations.parsers.reading import UNREADABLE, seconds
from httpbed.implementations.protocol import Findings, Migrations, PathEvent, Request
from httpbed.model.metric import Observation
from httpbed.process import left

TIMES = {
    "client_total_time": "close",
    "client_handshake_time": "handshake",
    "time_to_first_byte": "first_byte",
}
"""Metric -> the program's word."""
_NOTHING = "httpbed-quiche printed nothing"


def parse(file: Path) -> Findings:
    """Read the object; there is none when it was killed."""
    try:
        text = left.text(file, errors="strict")
        if not text.strip():
            return Findings(complaint=_NOTHING)
        said = json.loads(text)
        streams = [dict(stream) for stream in said["streams"]]
        return Findings(
            observations=tuple(_observations(said["times"])),
            requests=tuple(_request(said, stream) for stream in streams if stream["status"]),
            complaint=str(said["error"] or ""),
            path_events=tuple(_path_events(said)),
            migrations=_migrations(said),
        )
    except FileNotFoundError:
        return Findings(complaint=_NOTHING)
    except UNREADABLE as error:
        return Findings(complaint=f"httpbed-quiche printed what is not its own: {error!r}")


def _observations(times: Mapping[str, Any]) -> Iterator[Observation]:
    for metric, word in TIMES.items():
        if times[word] is not None:
            yield Observation(metric=metric, value=seconds(times[word]), source="client")


def _path_events(said: Mapping[str, Any]) -> Iterator[PathEvent]:
    """Put the events on the machine's clock; a report without them is an older program's."""
    for event in said.get("path_events", ()):
        yield PathEvent(
            at_ns=int(said["clock_ns"]) + round(1e9 * seconds(event["at"])),
            kind=str(event["event"]),
            local=str(event["local"]),
            remote=str(event["remote"]),
            reason=str(event["reason"]),
        )


def _migrations(said: Mapping[str, Any]) -> Migrations | None:
    counts = said.get("migrations")
    return counts and Migrations(tried=int(counts["tried"]), failed=int(counts["failed"]))


def _request(said: Mapping[str, Any], stream: Mapping[str, Any]) -> Request:
    return Request(
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
