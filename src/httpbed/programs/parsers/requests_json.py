"""What our own clients print: a line with an object for each file, in the words of the seam.

A line may tell of paths instead: ``path_event`` is what has happened, ``migrations`` counts them up
to then, ``clock_ns`` is the same in all lines of a run. The last line may be ``{"error": "..."}``:
why nothing more came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.metric import Observation
from httpbed.host.sandbox import untrusted_files
from httpbed.programs.parsers import migration_events
from httpbed.programs.parsers.untrusted_values import UNREADABLE, seconds
from httpbed.programs.protocol import LoggedRequest, MigrationCounts, ProgramReport

Line = dict[str, Any]


def parse(file: Path) -> ProgramReport:
    """Read every line; there is none when the client was killed."""
    try:
        lines = [
            dict(json.loads(one))
            for one in untrusted_files.text(file, errors="strict").splitlines()
        ]
        return _findings(lines)
    except FileNotFoundError:
        return ProgramReport(complaint="the client printed nothing")
    except UNREADABLE as error:
        return ProgramReport(complaint=f"the client printed what is not its own: {error!r}")


def _findings(lines: Sequence[Line]) -> ProgramReport:
    if not lines:
        return ProgramReport(complaint="the client printed nothing")
    errors = [str(line["error"]) for line in lines if "error" in line]
    moving = [line for line in lines if "path_event" in line]
    told = [line for line in lines if "error" not in line and "path_event" not in line]
    return ProgramReport(
        observations=tuple(_observations(told)) if told else (),
        requests=tuple(_request(said) for said in told),
        complaint="; ".join(errors),
        path_events=tuple(
            event
            for line in moving
            for event in migration_events.events(line["clock_ns"], [line["path_event"]])
        ),
        migrations=_migrations(moving) if moving else None,
    )


def _migrations(moving: Sequence[Line]) -> MigrationCounts:
    """Add up what each run of the client counted last."""
    last = {line["clock_ns"]: migration_events.migrations(line["migrations"]) for line in moving}
    return MigrationCounts(
        tried=sum(one.tried for one in last.values()),
        failed=sum(one.failed for one in last.values()),
    )


def _request(said: Line) -> LoggedRequest:
    return LoggedRequest(
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


def _observations(told: Sequence[Line]) -> Iterator[Observation]:
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
