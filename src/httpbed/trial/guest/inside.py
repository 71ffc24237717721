"""The first process of a guest: it runs the attempt that was handed over, and powers off."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError, HostError
from httpbed.host.guest import job
from httpbed.host.guest.command import SHARED
from httpbed.trial.guest.work import ARTIFACTS, PHASES, Work
from httpbed.trial.plan import CampaignSetup, TrialPlan
from httpbed.trial.run import runner

_ATTEMPT = Path("/run/httpbed-attempt")
"""The attempt's folder: in the guest's memory, as the shared folder has no owners."""


def main() -> None:
    """Run the attempt, copy what it left to the shared folder, and power off."""
    _ATTEMPT.mkdir(parents=True)
    work: Work = job.read_work()
    planned = work.setup.plan(work.trial)
    job.begin()
    result = _result(planned, work.setup)
    if (_ATTEMPT / ARTIFACTS).exists():
        shutil.copytree(_ATTEMPT / ARTIFACTS, SHARED / ARTIFACTS)
    job.end(result)


def _result(planned: TrialPlan, setup: CampaignSetup) -> dict[str, Any]:
    try:
        phases = asyncio.run(runner.run(planned, setup, _ATTEMPT / ARTIFACTS))
    except (BedError, HostError) as error:
        return {"broken": str(error)}
    return {PHASES: phases.seconds}


if __name__ == "__main__":
    main()
