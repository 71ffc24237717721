"""What httpbed's own clients print: a line with a JSON object for each file.

A line with ``path_event`` reports a change of path instead: ``migrations`` counts migrations so
far, and ``clock_ns`` is the same in all lines of a run. The last line may be ``{"error": "..."}``,
the reason why no more files follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.base.clock import NS
from httpbed.experiment.metric import Observation
from httpbed.programs.parsers import count, path_of, seconds
from httpbed.programs.part import LoggedRequest, MigrationCounts, PathEvent, ProgramReport

# Path events and migration counts in the output of httpbed's own clients.
#
# ``clock_ns`` is CLOCK_MONOTONIC at the program's time zero; an event is ``at`` seconds later.


def events(clock_ns: object, reported: Iterable[Mapping[str, Any]]) -> tuple[PathEvent, ...]:
    """Read path events, with times on CLOCK_MONOTONIC.

    Raises:
        One of :data:`~httpbed.programs.parsers.UNREADABLE`: The form is wrong.
    """
    return tuple(
        PathEvent(
            at_ns=count(clock_ns) + round(seconds(event["at"]) * NS),
            kind=str(event["event"]),
            local=str(event.get("local") or ""),
            remote=str(event.get("remote") or ""),
            reason=str(event.get("reason") or ""),
        )
        for event in reported
    )


def migrations(counts: Mapping[str, Any]) -> MigrationCounts:
    """Read the numbers of migrations; raises as :func:`events`."""
    return MigrationCounts(tried=count(counts["tried"]), failed=count(counts["failed"]))


Line = dict[str, Any]


def parse(file: Path) -> ProgramReport:
    """Read every line; a killed client leaves none."""
    lines = [*map(dict, untrusted_files.json_lines(file, errors="strict"))]
    if not lines:
        raise EOFError
    errors = [str(line["error"]) for line in lines if "error" in line]
    moving = [line for line in lines if "path_event" in line]
    files = [line for line in lines if "error" not in line and "path_event" not in line]
    return ProgramReport(
        observations=tuple(_observations(files)) if files else (),
        requests=tuple(_request(line) for line in files),
        complaint="; ".join(errors),
        path_events=tuple(
            event for line in moving for event in events(line["clock_ns"], [line["path_event"]])
        ),
        migrations=_migrations(moving) if moving else None,
    )


def _migrations(moving: Sequence[Line]) -> MigrationCounts:
    """Return the sum of each run's last counts."""
    last = {line["clock_ns"]: migrations(line["migrations"]) for line in moving}
    return MigrationCounts(
        tried=sum(counts.tried for counts in last.values()),
        failed=sum(counts.failed for counts in last.values()),
    )


def _request(line: Line) -> LoggedRequest:
    return LoggedRequest(
        http_version=str(line["http_version"]),
        status=int(line["status"]),
        body_bytes=int(line["body_bytes"]),
        connection=str(line.get("connection", "")),
        tls_version=str(line.get("tls_version", "")),
        cipher=str(line.get("cipher", "")),
        resumed=_flag(line.get("resumed")),
        early_data=_flag(line.get("early_data")),
        path=str(line.get("path", "")),
        began_s=seconds(line["began_s"]),
        ended_s=seconds(line["ended_s"]),
    )


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _observations(files: Sequence[Line]) -> Iterator[Observation]:
    first_bytes = [seconds(line["first_byte_s"]) for line in files if line.get("first_byte_s")]
    return _known_times(
        {
            "client_total_time": max(seconds(line["ended_s"]) for line in files),
            "client_handshake_time": files[0].get("handshake_s"),
            "time_to_first_byte": min(first_bytes, default=None),
        }
    )


def _known_times(times: Mapping[str, Any]) -> Iterator[Observation]:
    for metric, time in times.items():
        if time is not None:
            yield Observation(metric=metric, value=seconds(time), source="client")


# What httpbed-quiche prints: one JSON object, times in seconds since its start.


TIMES = {
    "client_total_time": "close",
    "client_handshake_time": "handshake",
    "time_to_first_byte": "first_byte",
}
"""Metric -> the program's word."""


def parse_quiche(file: Path) -> ProgramReport:
    """Read the object; a killed program leaves none."""
    text = untrusted_files.text(file, errors="strict")
    if not text.strip():
        raise EOFError
    report = untrusted_files.json_value(text)
    streams = [dict(stream) for stream in report["streams"]]
    return ProgramReport(
        observations=tuple(
            _known_times({metric: report["times"][word] for metric, word in TIMES.items()})
        ),
        requests=tuple(_quiche_request(report, stream) for stream in streams if stream["status"]),
        complaint=str(report["error"] or ""),
        # older versions report no path events
        path_events=events(report.get("clock_ns"), report.get("path_events", ())),
        migrations=migrations(report["migrations"]) if "migrations" in report else None,
    )


def _quiche_request(report: Mapping[str, Any], stream: Mapping[str, Any]) -> LoggedRequest:
    return LoggedRequest(
        http_version=str(stream["http_version"]),
        status=int(stream["status"]),
        body_bytes=int(stream["bytes"]),
        connection="1",
        tls_version=str(report["tls_version"]),
        cipher=str(report["cipher"]),
        resumed=bool(report["resumed"]),
        early_data=bool(report["early_data"]),
        path=path_of(str(stream["url"])),
        began_s=seconds(stream["began"]),
        ended_s=None if stream["ended"] is None else seconds(stream["ended"]),
    )
