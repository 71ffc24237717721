"""The verdict on a cell, from its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.calibration import evidence, packets
from httpbed.addons.calibration.cell import Cell, Finding, Value
from httpbed.addons.calibration.evidence import CellEvidence


@dataclass(frozen=True)
class Verdict:
    """The result of a cell."""

    cell: str
    findings: tuple[Finding, ...]
    covers: Mapping[str, Value]
    lateness_p99_s: float | None = None
    """Lateness of the emulator."""
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
        own = [one for one in self.findings if one.what == packets.MEASURING and not one.passed]
        return not own and all(one.achieved is not None for one in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the verdict ready for :func:`json.dumps`."""
        findings = [asdict(one) | {"passed": one.passed} for one in self.findings]
        return {
            "cell": self.cell,
            "passed": self.passed,
            "broken": self.broken,
            "covers": dict(self.covers),
            "lateness_p99_s": self.lateness_p99_s,
            "scheduling": self.scheduling,
            "findings": findings,
        }


def read(cell: Cell, folder: Path, floor_s: Mapping[int, float], seed: int) -> CellEvidence:
    """Read the evidence of a cell."""
    sizes = {flow.direction: flow.sizes() for flow in cell.flows}
    return evidence.read(folder, sizes, floor_s, seed)


def judge(cell: Cell, observed: CellEvidence) -> Verdict:
    """Judge every claim of a cell, and those that all cells share."""
    findings = [finding for claim in cell.claims for finding in claim.judge(observed)]
    late = observed.link["lateness_ns"]["p99"]
    return Verdict(
        cell=cell.name,
        findings=(*findings, *packets.instrument(observed)),
        covers=cell.covers,
        lateness_p99_s=None if late is None else late / 1e9,
        scheduling=observed.link["scheduling"],
    )


def broken(cell: Cell, reason: str) -> Verdict:
    """Return the verdict on a cell that could not be run."""
    return Verdict(cell.name, (), cell.covers, broken=reason)
