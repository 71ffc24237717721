"""What our own clients tell of a connection that goes from one path to another.

An object with ``clock_ns``, the kernel's monotonic clock at the program's time zero; with
``path_events``, each ``at`` seconds after that; and with ``migrations``, counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from httpbed.implementations.parsers.reading import seconds
from httpbed.implementations.protocol import Migrations, PathEvent
from httpbed.model.units import NS


def events(said: Mapping[str, Any]) -> tuple[PathEvent, ...]:
    """Read what happened to paths, on the kernel's clock.

    Raises:
        One of :data:`~httpbed.implementations.parsers.reading.UNREADABLE`: It is not told so.
    """
    clock_ns = int(said["clock_ns"])
    return tuple(
        PathEvent(
            at_ns=clock_ns + round(seconds(event["at"]) * NS),
            kind=str(event["event"]),
            local=str(event.get("local") or ""),
            remote=str(event.get("remote") or ""),
            reason=str(event.get("reason") or ""),
        )
        for event in said["path_events"]
    )


def migrations(said: Mapping[str, Any]) -> Migrations:
    """Read how many migrations there were, as :func:`events` does."""
    counts = said["migrations"]
    return Migrations(tried=int(counts["tried"]), failed=int(counts["failed"]))
