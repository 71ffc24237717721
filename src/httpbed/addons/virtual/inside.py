"""The job of a guest that runs an attempt."""

from __future__ import annotations

import asyncio
import shutil
from typing import Any

from httpbed.addons.virtual import job
from httpbed.addons.virtual.visible_files import SHARED
from httpbed.addons.virtual.work import ARTIFACTS, ATTEMPT, PHASES, Work
from httpbed.trial.run import runner


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
