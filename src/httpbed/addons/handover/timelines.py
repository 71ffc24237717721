"""Deliveries to the client and hand-overs over time: one curve for each trial.

A trial leaves deliveries since the emulator began, and hand-overs since the client's first packet
(:mod:`~httpbed.addons.handover.handover_files`). Both are converted to the clock of the request
time, whose zero is that packet.

A curve has as many corners as its trial had milliseconds with packets, far more than can be seen.
:func:`thinned` keeps those that shape it: of all corners left out always the one that lies farthest
from the line drawn so far (Douglas and Peucker 1973, farthest first), until none is farther than
the tolerance or there are as many as allowed. Ends of stalls are such corners.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from httpbed.addons.handover import handover_files
from httpbed.addons.handover.handover_files import BIN_S, DELIVERIES, DeliveryBin
from httpbed.addons.handover.handover_samples import of_attempt
from httpbed.experiment.handover import HandoverEvent
from httpbed.store import attempts, layout
from httpbed.store.results import Results

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Bytes delivered over time, as corners of a line that never falls."""

    times_s: Floats
    total_bytes: Floats

    @property
    def end_s(self) -> float:
        """When the last byte came; 0 without any."""
        return float(self.times_s[-1]) if self.times_s.size else 0.0

    @property
    def end_bytes(self) -> float:
        """How many bytes came in all."""
        return float(self.total_bytes[-1]) if self.total_bytes.size else 0.0

    def at(self, time_s: float) -> float:
        """Bytes delivered by a time."""
        return float(np.interp(time_s, self.times_s, self.total_bytes)) if self.end_s else 0.0


@dataclass(frozen=True)
class Timeline:
    """The last attempt at a trial, over time."""

    block: int
    trial: str
    attempt: int
    levels: Mapping[str, str]
    outcome: str
    curve: Curve
    handovers: tuple[HandoverEvent, ...]
    by_link: Mapping[str, int]
    """Bytes delivered over each link, in the order of their first packets."""


NO_CURVE = Curve(np.zeros(0), np.zeros(0))


def timeline(results: Results, row: Mapping[str, Any]) -> Timeline:
    """Read one attempt's timeline; missing or damaged parts are empty."""
    events = of_attempt(results, row)
    altered = results.artifacts.altered(row, DELIVERIES)
    text = "" if altered else attempts.artifact_text(_artifacts(results, row) / DELIVERIES)
    curve, by_link = deliveries(text, events)
    return Timeline(
        block=row["block"],
        trial=row["trial"],
        attempt=row["attempt"],
        levels={name: row[name] for name in results.experiment.factors},
        outcome=row["outcome"],
        curve=curve,
        handovers=events,
        by_link=by_link,
    )


def deliveries(text: str, events: Iterable[HandoverEvent] = ()) -> tuple[Curve, dict[str, int]]:
    """Read a trial's deliveries: the curve, and the bytes over each link."""
    found = handover_files.read_deliveries(text)
    gone = handover_files.absences(events, found.origin)
    rows = list(handover_files.received(found.rows, gone))
    by_link: dict[str, int] = {}
    for one in rows:
        by_link[one.link] = by_link.get(one.link, 0) + one.ip_bytes
    return _curve(rows, found.origin), by_link


def _curve(rows: Sequence[DeliveryBin], origin: float) -> Curve:
    """Let the line rise during each millisecond with packets, and be level between them."""
    if not rows:
        return NO_CURVE
    bins, where = np.unique([one.bin for one in rows], return_inverse=True)
    after = np.cumsum(np.bincount(where, weights=[one.ip_bytes for one in rows]))
    before = np.concatenate(([0.0], after[:-1]))
    begins = np.maximum((bins - origin) * BIN_S, 0.0)
    times = np.column_stack((begins, (bins + 1 - origin) * BIN_S)).ravel()
    total = np.column_stack((before, after)).ravel()
    return Curve(np.concatenate(([0.0], times)), np.concatenate(([0.0], total)))


def thinned(curve: Curve, tolerance_bytes: float, most: int) -> Curve:
    """Leave out the corners that change the line least; ``most`` is at least 2."""
    x, y = curve.times_s, curve.total_bytes
    if x.size <= 2:  # both ends
        return curve
    kept = [0, x.size - 1]
    waiting = [_farthest(x, y, 0, x.size - 1)]
    while waiting and len(kept) < most:
        negative, middle, first, last = heapq.heappop(waiting)
        if -negative <= tolerance_bytes:
            break
        kept.append(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heapq.heappush(waiting, _farthest(x, y, start, end))
    order = np.sort(np.array(kept))
    return Curve(x[order], y[order])


def _farthest(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return the corner farthest from the line between two, for a heap with the largest first."""
    between = slice(first + 1, last)
    drawn = np.interp(x[between], (x[first], x[last]), (y[first], y[last]))
    off = np.abs(y[between] - drawn)
    index = int(np.argmax(off))
    return -float(off[index]), first + 1 + index, first, last


def _artifacts(results: Results, row: Mapping[str, Any]) -> Path:
    return layout.artifacts(results.directory, row["block"], row["trial"], row["attempt"])
