"""The job of a guest that runs an attempt, and what host and guest hand each other of it."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.virtual import job
from httpbed.addons.virtual.visible_files import SHARED
from httpbed.bed.sandbox.sandbox_spec import SandboxSpec
from httpbed.trial.attempt_plan import AttemptPlan
from httpbed.trial.run import runner

ATTEMPT = Path("/run/httpbed-attempt")
"""The attempt's folder in the guest: in its memory, as the shared folder has no owners."""
ARTIFACTS = "artifacts"
"""Name in both folders of what the attempt left."""
PHASES = "phases_s"
"""Key of the result: the virtual seconds of each phase."""


@dataclass(frozen=True)
class Work:
    """An attempt to be made in a guest, planned to the last detail.

    It has nothing of experiments, recipes and sites, which a guest would take long to import.
    """

    sandbox: SandboxSpec
    attempt: AttemptPlan


def main() -> None:
    """Run the attempt, and power off."""
    job.perform(_attempt)


def _attempt(work: Work) -> dict[str, Any]:
    """Run the attempt, and copy what it left to the shared folder; return its phases."""
    artifacts = ATTEMPT / ARTIFACTS
    ATTEMPT.mkdir(parents=True)
    job.begin()
    try:
        phases = asyncio.run(runner.run(work.sandbox, work.attempt, artifacts))
    finally:
        if artifacts.exists():
            shutil.copytree(artifacts, SHARED / ARTIFACTS)
    return {PHASES: phases.seconds}
