"""Runs in a guest, as its first process: cells of the calibration, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.calibration import session
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.cells import all_cells
from httpbed.addons.virtual import job

SEED = 3


@dataclass(frozen=True)
class Work:
    """Cells to be run in a guest."""

    root: Path
    """A root filesystem with ip and ethtool."""
    names: Sequence[str]


def main() -> None:
    """Run the cells that were handed over; leave the verdicts."""
    job.perform(_calibrate)


def _calibrate(work: Work) -> dict[str, Any]:
    cells = [cell for cell in all_cells("smoke") if cell.name in work.names]
    bench = Bench(work.root, SEED, polls=False)
    job.begin()
    verdicts = asyncio.run(session.calibrate(cells, bench, tell=lambda _: None))
    return {"verdicts": [verdict.as_json() for verdict in verdicts]}
