"""What httpbed's own clients print: a line with a JSON object for each file.

A line with ``path_event`` reports a change of path instead: ``migrations`` counts migrations so
far, and ``clock_ns`` is the same in all lines of a run. The last line may be ``{"error": "..."}``,
the reason why no more files follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.experiment.metric import Observation
from httpbed.programs.parsers import migration_events
from httpbed.programs.parsers.untrusted_values import UNREADABLE, seconds
from httpbed.programs.protocol import LoggedRequest, MigrationCounts, ProgramReport

Line = dict[str, Any]


def parse(file: Path) -> ProgramReport:
    """Read every line; a killed client leaves none."""
    try:
        return _findings([*map(dict, untrusted_files.json_lines(file, errors="strict"))])
    except FileNotFoundError:
        return ProgramReport(complaint="the client printed nothing")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"the client's output is unreadable: {error!r}")


def _findings(lines: Sequence[Line]) -> ProgramReport:
    if not lines:
        return ProgramReport(complaint="the client printed nothing")
    errors = [str(line["error"]) for line in lines if "error" in line]
    moving = [line for line in lines if "path_event" in line]
    files = [line for line in lines if "error" not in line and "path_event" not in line]
    return ProgramReport(
        observations=tuple(_observations(files)) if files else (),
        requests=tuple(_request(line) for line in files),
        complaint="; ".join(errors),
        path_events=tuple(
            event
            for line in moving
            for event in migration_events.events(line["clock_ns"], [line["path_event"]])
        ),
        migrations=_migrations(moving) if moving else None,
    )


def _migrations(moving: Sequence[Line]) -> MigrationCounts:
    """Return the sum of each run's last counts."""
    last = {line["clock_ns"]: migration_events.migrations(line["migrations"]) for line in moving}
    return MigrationCounts(
        tried=sum(one.tried for one in last.values()),
        failed=sum(one.failed for one in last.values()),
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
    values = {
        "client_total_time": max(seconds(line["ended_s"]) for line in files),
        "client_handshake_time": files[0].get("handshake_s"),
        "time_to_first_byte": min(
            (seconds(line["first_byte_s"]) for line in files if line.get("first_byte_s")),
            default=None,
        ),
    }
    for metric, value in values.items():
        if value is not None:
            yield Observation(metric=metric, value=seconds(value), source="client")
