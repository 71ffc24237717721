"""Path events and migration counts in the output of httpbed's own clients.

``clock_ns`` is CLOCK_MONOTONIC at the program's time zero; an event is ``at`` seconds later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from httpbed.base.clock import NS
from httpbed.programs.parsers.untrusted_values import count, seconds
from httpbed.programs.protocol import MigrationCounts, PathEvent


def events(clock_ns: object, reported: Iterable[Mapping[str, Any]]) -> tuple[PathEvent, ...]:
    """Read path events, with times on CLOCK_MONOTONIC.

    Raises:
        One of :data:`~httpbed.programs.parsers.untrusted_values.UNREADABLE`: The form is wrong.
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
