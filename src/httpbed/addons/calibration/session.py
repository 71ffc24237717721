"""A calibration: its cells run one after the other, each judged as soon as it has run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.calibration import (
    cell_runner,
    disciplines,
    grid,
    judgement,
    link_changes,
    other_cells,
    rebinding,
    timing,
)
from httpbed.addons.calibration.cell import Cell
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.grid import EXTENTS
from httpbed.addons.calibration.judgement import Verdict
from httpbed.addons.calibration.scale import Scale
from httpbed.base.errors import BedError

ATTEMPTS = 3
"""Attempts of a cell whose bed failed or could not measure; a judged cell is never repeated."""


@dataclass(frozen=True)
class Progress:
    """The state of a calibration: a cell is about to run, or has been judged."""

    done: int
    total: int
    cell: str
    left_s: float
    """Estimated seconds of the remaining cells."""
    verdict: Verdict | None = None


def cells(scale: Scale) -> list[Cell]:
    """Return the cells of a scale, first the link without impairments: the others' floor."""
    return [grid.floor(), *_beyond_the_floor(scale)]


def _beyond_the_floor(scale: Scale) -> Iterator[Cell]:
    extent = EXTENTS[scale]
    yield from grid.delays(extent)
    yield other_cells.asymmetry()
    yield other_cells.offloads()
    yield from grid.rates(extent)
    yield grid.goodput()
    yield from grid.losses(extent)
    yield from other_cells.bursts(extent)
    yield from other_cells.queues()
    yield from other_cells.jitters(extent)
    yield from other_cells.buckets()
    yield from other_cells.policers()
    yield from other_cells.traces()
    yield from other_cells.strays(extent)
    yield from other_cells.counted()
    yield from link_changes.changes()
    yield from rebinding.rebindings()
    yield from other_cells.together()
    yield from disciplines.disciplines()


async def calibrate(
    chosen: Iterable[Cell],
    bench: Bench,
    *,
    tell: Callable[[Progress], None],
    keep: Path | None = None,
) -> list[Verdict]:
    """Run and judge cells in order; the first must be the floor, without which none is measured.

    ``keep`` is a folder for every cell's evidence; without one it is deleted.

    Raises:
        HostError: This machine cannot make a sandbox.
    """
    todo = list(chosen)
    floor_s: dict[int, float] = {}
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="httpbed-calibration-") as name:
        home = (keep or Path(name)).absolute()
        for number, cell in enumerate(todo):
            left = sum(one.lasts_s() + grid.OVERHEAD_S for one in todo[number:])
            tell(Progress(number, len(todo), cell.name, left))
            if number and not floor_s:
                verdict = judgement.broken(cell, f"{todo[0].name} was not measured")
            else:
                verdict, measured = await _one(cell, bench, home / f"{number:02d}", floor_s)
                floor_s = floor_s or measured
            verdicts.append(verdict)
            tell(Progress(number + 1, len(todo), cell.name, left, verdict))
    return verdicts


async def _one(
    cell: Cell, bench: Bench, folder: Path, floor_s: dict[int, float]
) -> tuple[Verdict, dict[int, float]]:
    reason, judged = "", None
    for attempt in range(ATTEMPTS):
        place = folder.with_name(f"{folder.name}-{attempt}")
        try:
            await cell_runner.run(cell, bench, place)
        except BedError as error:
            reason = str(error)
            continue
        evidence = judgement.read(cell, place, floor_s, bench.seed)
        judged = judgement.judge(cell, evidence), timing.floors(evidence.passages)
        if judged[0].measured:
            return judged
    return judged or (judgement.broken(cell, reason), {})
