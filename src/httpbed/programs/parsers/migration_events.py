"""What our own clients tell of a connection that goes from one path to another.

``clock_ns`` is the kernel's monotonic clock at the program's time zero; an event is ``at`` seconds
after that; and migrations are counted. Every parser of such a client reads it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from httpbed.experiment.units import NS
from httpbed.programs.parsers.untrusted_values import count, seconds
from httpbed.programs.protocol import MigrationCounts, PathEvent


def events(clock_ns: object, told: Iterable[Mapping[str, Any]]) -> tuple[PathEvent, ...]:
    """Read what happened to paths, on the kernel's clock.

    Raises:
        One of :data:`~httpbed.programs.parsers.untrusted_values.UNREADABLE`: It is not told so.
    """
    return tuple(
        PathEvent(
            at_ns=count(clock_ns) + round(seconds(event["at"]) * NS),
            kind=str(event["event"]),
            local=str(event.get("local") or ""),
            remote=str(event.get("remote") or ""),
            reason=str(event.get("reason") or ""),
        )
        for event in told
    )


def migrations(counts: Mapping[str, Any]) -> MigrationCounts:
    """Read how many migrations there were, as :func:`events` does."""
    return MigrationCounts(tried=count(counts["tried"]), failed=count(counts["failed"]))
