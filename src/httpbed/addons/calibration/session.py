"""A calibration: its cells run one after the other, each judged as soon as it has run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.calibration import cell_runner, claims, evidence
from httpbed.addons.calibration.cell import Cell, Finding, Value
from httpbed.addons.calibration.cell_runner import Bench
from httpbed.addons.calibration.cells import OVERHEAD_S
from httpbed.addons.calibration.evidence import CellEvidence
from httpbed.base.errors import BedError

MAX_ATTEMPTS = 3
"""Attempts of a cell whose bed failed or could not measure; a judged cell is never repeated."""


@dataclass(frozen=True)
class Verdict:
    """The result of a cell."""

    cell: str
    findings: tuple[Finding, ...]
    covers: Mapping[str, Value]
    lateness_p99_s: float | None = None
    scheduling: str | None = None
    """The emulator's scheduling class."""
    broken: str = ""
    """Why there is no evidence; empty if there is."""

    @property
    def passed(self) -> bool:
        """Whether every claim holds."""
        return not self.broken and all(finding.passed for finding in self.findings)

    @property
    def measured(self) -> bool:
        """Whether every claim could be measured."""
        spoilt = any(
            finding.what == claims.MEASURING and not finding.passed for finding in self.findings
        )
        return not spoilt and all(finding.achieved is not None for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict ready for :func:`json.dumps`."""
        findings = [asdict(finding) | {"passed": finding.passed} for finding in self.findings]
        return {
            "cell": self.cell,
            "passed": self.passed,
            "broken": self.broken,
            "covers": dict(self.covers),
            "lateness_p99_s": self.lateness_p99_s,
            "scheduling": self.scheduling,
            "findings": findings,
        }


@dataclass(frozen=True)
class Progress:
    """The state of a calibration: a cell is about to run, or has been judged."""

    done: int
    total: int
    cell: str
    left_s: float
    """Estimated seconds of the remaining cells."""
    verdict: Verdict | None = None


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
            left = sum(later.lasts_s() + OVERHEAD_S for later in todo[number:])
            tell(Progress(number, len(todo), cell.name, left))
            if number and not floor_s:
                verdict = broken(cell, f"{todo[0].name} was not measured")
            else:
                place = home / f"{number:02d}"
                verdict, medians_s = await _measured(cell, bench, place, floor_s)
                floor_s = floor_s or medians_s
            verdicts.append(verdict)
            tell(Progress(number + 1, len(todo), cell.name, left, verdict))
    return verdicts


async def _measured(
    cell: Cell, bench: Bench, folder: Path, floor_s: dict[int, float]
) -> tuple[Verdict, dict[int, float]]:
    """Run a cell until it is measured, at most :data:`MAX_ATTEMPTS` times.

    Returns the last verdict, and the median one-way delay of each direction.
    """
    reason, judged = "", None
    for attempt in range(MAX_ATTEMPTS):
        place = folder.with_name(f"{folder.name}-{attempt}")
        try:
            await cell_runner.run(cell, bench, place)
        except BedError as error:
            reason = str(error)
            continue
        observed = evidence.read(cell.sizes(), place, floor_s, bench.seed)
        judged = judge(cell, observed), claims.floors(observed.passages)
        if judged[0].measured:
            return judged
    return judged or (broken(cell, reason), {})


def judge(cell: Cell, observed: CellEvidence) -> Verdict:
    """Judge every claim of a cell, and those that all cells share."""
    findings = [finding for claim in cell.claims for finding in claim.judge(observed)]
    late = observed.link["lateness_ns"]["p99"]
    return Verdict(
        cell=cell.name,
        findings=(*findings, *claims.instrument(observed)),
        covers=cell.covers,
        lateness_p99_s=None if late is None else late / 1e9,
        scheduling=observed.link["scheduling"],
    )


def broken(cell: Cell, reason: str) -> Verdict:
    """Return the verdict on a cell that could not be run."""
    return Verdict(cell.name, (), cell.covers, broken=reason)
