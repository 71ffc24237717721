"""What httpbed-quiche prints: one JSON object, times in seconds since its start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.experiment.metric import Observation
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
    """Read the object; a killed program leaves none."""
    try:
        text = untrusted_files.text(file, errors="strict")
        if not text.strip():
            return ProgramReport(complaint=_NOTHING)
        report = untrusted_files.json_value(text)
        streams = [dict(stream) for stream in report["streams"]]
        return ProgramReport(
            observations=tuple(_observations(report["times"])),
            requests=tuple(_request(report, stream) for stream in streams if stream["status"]),
            complaint=str(report["error"] or ""),
            # older versions report no path events
            path_events=migration_events.events(
                report.get("clock_ns"), report.get("path_events", ())
            ),
            migrations=migration_events.migrations(report["migrations"])
            if "migrations" in report
            else None,
        )
    except FileNotFoundError:
        return ProgramReport(complaint=_NOTHING)
    except UNREADABLE as error:
        return ProgramReport(complaint=f"httpbed-quiche's output is unreadable: {error!r}")


def _observations(times: Mapping[str, Any]) -> Iterator[Observation]:
    for metric, word in TIMES.items():
        if times[word] is not None:
            yield Observation(metric=metric, value=seconds(times[word]), source="client")


def _request(report: Mapping[str, Any], stream: Mapping[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        http_version=str(stream["http_version"]),
        status=int(stream["status"]),
        body_bytes=int(stream["bytes"]),
        connection="1",
        tls_version=str(report["tls_version"]),
        cipher=str(report["cipher"]),
        resumed=bool(report["resumed"]),
        early_data=bool(report["early_data"]),
        path="/" + str(stream["url"]).split("/", 3)[-1],
        began_s=seconds(stream["began"]),
        ended_s=None if stream["ended"] is None else seconds(stream["ended"]),
    )
