"""Emulator results with timelines whose figures are known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.kept import LINK_RESULT
from httpbed.results import attempts
from httpbed.store import campaign as campaigns
from httpbed.store.results import Results

STARTED_NS, FIRST_NS = 70_000_000, 75_000_000
"""The client's first packet came 5 ms after the start of the counting."""


def steady(bins: int = 20, bytes_each: int = 10_000, bin_ns: int = 8_000_000) -> dict[str, Any]:
    """Return a direction that carries as many bytes in each bin, answered five bins later.

    Half of the packets of bin 3 are dropped.
    """
    full, late = [bytes_each] * bins, min(5, bins)
    delivered = [value // 2 if place == 3 else value for place, value in enumerate(full)]
    return {
        "bin_ns": bin_ns,
        "sent_bytes": full,
        "delivered_bytes": delivered,
        "answered_bytes": [0] * late + full[late:],
        "dropped_packets": [int(place == 3) for place in range(bins)],
        "queue_us": [None, *[2000] * (bins - 1)] if bins else [],
        "rtt_us": [None] * late + [50_000] * (bins - late),
    }


def result(watched: Sequence[Mapping[str, Any] | None]) -> str:
    """Write an emulator's result with these timelines, one for each direction."""
    directions = [{"timeline": one} if one else {} for one in watched]
    connections = [{"client_first_ns": FIRST_NS}, {"client_first_ns": None}]
    return json.dumps(
        {"started_ns": STARTED_NS, "directions": directions, "connections": connections}
    )


def keep(results: Results, text: str, outcomes: Sequence[str] = ("completed",)) -> None:
    """Put a result among the artifacts of each attempt with one of the outcomes."""
    for row in attempts.valid(results):
        if row["outcome"] in outcomes:
            place = (row["block"], row["trial"], row["attempt"])
            folder = campaigns.artifacts(results.directory, *place)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / LINK_RESULT).write_text(text)


def one_link(**changes: Any) -> str:
    """Return the result of a network of one link, watched towards its first host."""
    return result([None, steady(**changes)])


def artifacts_of(results: Results, row: Mapping[str, Any]) -> Path:
    """Return the folder of an attempt's artifacts."""
    return campaigns.artifacts(results.directory, row["block"], row["trial"], row["attempt"])
