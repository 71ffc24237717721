"""The evidence of a calibration cell, computed instead of measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from httpbed.addons.calibration.cell import Cell
from httpbed.addons.calibration.evidence import CellEvidence, Floats, Passage

FLOOR_S = 30e-6
SEED = 3


def planned(cell: Cell, place: int = 0) -> Floats:
    """Return the planned send times of a flow of a cell, in seconds; the first is 1."""
    gaps = [train.gap_s for train in cell.flows[place].trains for _ in range(train.count)]
    return 1.0 + np.cumsum(gaps) - gaps[0]


def passage(sent: Floats, sizes: Sequence[int], leaves: Floats, numbers: Sequence[int]) -> Passage:
    """Return a flow's packets with the times at which they left and arrived."""
    order = np.argsort(leaves[list(numbers)], kind="stable")
    arrived = np.asarray(numbers, dtype=np.int64)[order]
    return Passage(
        sizes=np.asarray(sizes, dtype=np.int64),
        sent_s=sent,
        done_s=sent,
        number=arrived,
        arrived_s=leaves[arrived] + FLOOR_S,
        bytes=np.asarray(sizes, dtype=np.int64)[arrived],
        flags=np.zeros(len(arrived), dtype=np.int64),
    )


def seen(
    passages: Mapping[int, Passage], lost: Mapping[int, Sequence[int]] | None = None
) -> CellEvidence:
    """Return the evidence of a cell with these passages and losses."""
    lost = lost or {}
    directions = [
        {
            "packets": {"in": len(passages[way].sizes) if way in passages else 0},
            "lost_numbers": list(lost.get(way, ())),
        }
        for way in (0, 1)
    ]
    link: dict[str, Any] = {
        "directions": directions,
        "socket_drops": 0,
        "send_failures": 0,
        "oversize_frames": 0,
        "scheduling": "SCHED_FIFO",
        "lateness_ns": {"p99": 20_000},
    }
    return CellEvidence(passages, link, dict.fromkeys(passages, FLOOR_S), SEED)
