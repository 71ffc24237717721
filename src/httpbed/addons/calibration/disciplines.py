"""Queue disciplines under constant overload: claims and cells.

Microseconds decide when CoDel and PIE drop, so no packet's fate is computed here; the emulator's
tests compare it with the RFCs' pseudo-code. These claims hold whenever they drop: the rate is kept,
the discipline counts every missing packet, and the delay settles far below that of a full queue.
Datagrams do not slow down, so the delay settles slower than with TCP, and the bounds are wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from httpbed.addons.calibration.cell import DIRECTIONS, DOWN, UP, Cell, Finding, Flow, Train
from httpbed.addons.calibration.evidence import CONGESTION, CellEvidence
from httpbed.addons.calibration.grid import DEEP, FULL_PACKET, rate_tolerance
from httpbed.addons.calibration.packets import exact
from httpbed.addons.calibration.timing import Rate
from httpbed.base import units

BIT_S = 10**7
OVERLOAD = 1.25
LASTS_S = 2.0
TARGET_S, INTERVAL_S = 5e-3, 20e-3
"""A fifth of CoDel's default interval, so that the delay settles in time: t seconds after the
first drop there are t / (2 x interval^2) drops per second, enough for a quarter too much after
some 0.2 s."""
PIE_TARGET_S = 15e-3
"""PIE's default; it overshoots in its first burst allowance (150 ms) and then oscillates."""
SPARSE_BYTES = 100


@dataclass(frozen=True)
class Managed:
    """The discipline dropped and counted every missing packet, and the others did not wait long."""

    direction: int
    bit_s: float
    least_s: float
    most_s: float
    """Longest mean wait in the second half of the flow."""

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare by number, and average."""
        label, counts = DIRECTIONS[self.direction], evidence.counted(self.direction)
        missing = evidence.passages[self.direction].missing()
        full = float(counts["packets"]["queue_dropped"])
        middle = (self.least_s + self.most_s) / 2
        reason = "a queue that only overflows would have it wait for about 375 ms"
        return [
            exact(f"dropped by the discipline {label}", counts["aqm_dropped_numbers"], missing),
            Finding(f"dropped by a full queue {label}", "packets", 0.0, full, 0.0, "there is room"),
            Finding(
                f"mean wait {label}",
                "s",
                middle,
                self._wait_s(evidence),
                middle - self.least_s,
                reason,
            ),
        ]

    def _wait_s(self, evidence: CellEvidence) -> float | None:
        passage = evidence.passages[self.direction]
        numbers, delays = passage.delays_s()
        late = numbers >= len(passage.sizes) // 2
        if not late.any():
            return None
        sending = passage.sizes[numbers[late]] * 8 / self.bit_s
        waits = delays[late] - sending - evidence.floor_s.get(self.direction, 0.0)
        return float(waits.mean())


@dataclass(frozen=True)
class Marked:
    """ECN-capable packets are marked and never dropped."""

    direction: int

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Count the marks that arrived; there must be some."""
        passage, counts = evidence.passages[self.direction], evidence.counted(self.direction)
        label = DIRECTIONS[self.direction]
        marks = int(((passage.flags & CONGESTION) != 0).sum())
        counted = "as many as the emulator counted"
        return [
            exact(f"dropped in place of a mark {label}", passage.missing(), ()),
            Finding(f"marked {label}", "packets", float(counts["marked"]), marks, 0.0, counted),
            Finding(f"marked at all {label}", "packets", 1.0, min(1.0, marks), 0.0, "overloaded"),
        ]


@dataclass(frozen=True)
class SparseFirst:
    """A flow of small packets does not wait for the queue of another flow's large packets."""

    direction: int
    bit_s: float

    def judge(self, evidence: CellEvidence) -> list[Finding]:
        """Compare the sparse flow's median wait with two of the bulk flow's packets."""
        passage = evidence.passages[self.direction]
        numbers, delays = passage.delays_s()
        sparse = numbers % 2 == 1
        waits = delays[sparse] - SPARSE_BYTES * 8 / self.bit_s
        waits = waits - evidence.floor_s.get(self.direction, 0.0)
        median = float(np.median(waits)) if sparse.any() else None
        most = 2 * FULL_PACKET * 8 / self.bit_s
        label = f"sparse flow's median wait {DIRECTIONS[self.direction]}"
        reason = "what is in service and one more turn"
        return [Finding(label, "s", most / 2, median, most / 2, reason)]


def disciplines() -> Iterator[Cell]:
    """Cells of CoDel and PIE with one flow, of FQ-CoDel with a sparse second flow, and of marks.

    PIE's marks have no cell: above a probability of 10 % it drops instead of marking.
    """
    codel = {"target": f"{TARGET_S * 1e3:g} ms", "interval": f"{INTERVAL_S * 1e3:g} ms"}
    yield managed("codel", codel, (TARGET_S / 2, TARGET_S + INTERVAL_S))
    yield managed("pie", {}, (PIE_TARGET_S / 3, 4 * PIE_TARGET_S))
    yield sparse(codel)
    for name in ("codel", "fq_codel"):
        yield marking(name, codel)


def managed(discipline: str, parameters: dict[str, str], wait_s: tuple[float, float]) -> Cell:
    """Send a quarter more than the rate, long enough for the delay to settle."""
    return Cell(
        name=f"{discipline} under overload",
        link={
            "rate": units.format_rate(BIT_S),
            "queue": {"discipline": discipline, **DEEP, **parameters},
        },
        flows=(Flow(DOWN, (_overload(LASTS_S),), ports=4, spin_s=0.0),),
        claims=(
            Managed(DOWN, BIT_S, *wait_s),
            Rate(DOWN, BIT_S, rate_tolerance(BIT_S), skip=20),
        ),
        settle_s=0.5,
        covers={"queue discipline": discipline},
    )


def _overload(seconds: float) -> Train:
    gap = FULL_PACKET * 8 / BIT_S / OVERLOAD
    return Train(round(seconds / gap), FULL_PACKET, gap)


def sparse(parameters: dict[str, str]) -> Cell:
    """Two flows of FQ-CoDel: full packets beyond the rate, and a small one after each."""
    gap = FULL_PACKET * 8 / BIT_S / OVERLOAD / 2
    pair = (Train(1, FULL_PACKET, gap), Train(1, SPARSE_BYTES, gap))
    return Cell(
        name="fq_codel, a sparse flow beside a bulk one",
        link={
            "rate": units.format_rate(BIT_S),
            "queue": {"discipline": "fq_codel", **DEEP, **parameters},
        },
        flows=(Flow(UP, pair * round(1.0 / gap / 2), ports=2, spin_s=0.0),),
        claims=(Managed(UP, BIT_S, 0.0, TARGET_S + INTERVAL_S), SparseFirst(UP, BIT_S)),
        settle_s=0.5,
        covers={"queue discipline": "fq_codel"},
    )


def marking(discipline: str, parameters: dict[str, str]) -> Cell:
    """ECN-capable packets beyond the rate."""
    queue = {"discipline": discipline, **DEEP, **parameters, "ecn": True}
    return Cell(
        name=f"{discipline} that marks",
        link={"rate": units.format_rate(BIT_S), "queue": queue},
        flows=(Flow(DOWN, (_overload(0.5),), ecn=True, spin_s=0.0),),
        claims=(Marked(DOWN),),
        settle_s=0.5,
        covers={"queue discipline": discipline, "marking by": discipline},
    )
