"""The timelines in the emulator's result: what directions of links carried, bin by bin.

The emulator defines them (crates/httpbed-link/src/timeline.rs). Campaigns of earlier versions and
links that the kernel carries have none.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import model_validator

from httpbed.base.value import Value


class LinkTimeline(Value):
    """One direction of a link; a value for each bin, from the start of the counting on."""

    bin_ns: int
    sent_bytes: list[int]
    """Bytes of IP packets that entered the link."""
    delivered_bytes: list[int]
    """Bytes of those that left it."""
    answered_bytes: list[int]
    """Bytes that are no longer in flight."""
    dropped_packets: list[int]
    queue_us: list[int | None]
    """Mean time in the queue; None where no packet left."""
    rtt_us: list[int | None]
    """Mean round-trip time; None where no packet was answered."""

    @model_validator(mode="after")
    def _has_columns_of_one_length(self) -> LinkTimeline:
        if len({len(column) for column in vars(self).values() if isinstance(column, list)}) > 1:
            msg = "its columns differ in length"
            raise ValueError(msg)
        return self


@dataclass(frozen=True)
class LinkTimelines:
    """The timelines of a trial."""

    directions: tuple[LinkTimeline | None, ...]
    """Two for each link; None for a direction that is not watched."""
    origin_ns: int
    """The client's first packet, in ns since the start of the counting."""

    def of(self, link: int, direction: int) -> LinkTimeline | None:
        """Return the timeline of one direction."""
        place = 2 * link + direction
        return self.directions[place] if place < len(self.directions) else None


def read(text: str) -> LinkTimelines | None:
    """Read the timelines in a result's text; None without any.

    Raises:
        ValueError: It is no result of the emulator.
    """
    result: Any = json.loads(text) if text else {}
    try:
        found = [one.get("timeline") for one in result["directions"]]
        directions = [None if one is None else LinkTimeline.model_validate(one) for one in found]
        times = [one["client_first_ns"] for one in result["connections"]]
        first = min((time for time in times if time is not None), default=result["started_ns"])
        origin_ns = int(first - result["started_ns"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"is no result of the emulator: {error}") from None
    return LinkTimelines(tuple(directions), origin_ns) if any(directions) else None
