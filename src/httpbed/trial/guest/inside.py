"""The first process of a guest: it runs the attempt that was handed over, and powers off."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import time
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError, HostError
from httpbed.host.guest.command import POWER_OFF, SHARED
from httpbed.trial.guest import handed
from httpbed.trial.guest.handed import ARTIFACTS
from httpbed.trial.plan import CampaignSetup, TrialPlan
from httpbed.trial.run import runner

_ATTEMPT = Path("/run/httpbed-attempt")
"""The attempt's folder: in the guest's memory, as the shared folder has no owners."""

_BEGINS_S = 1.0
"""When the attempt begins, in seconds since boot. Each reading of the clock takes virtual time, and
how often Python reads it until here depends on its files: whether they are compiled, and where."""


def main() -> None:
    """Run the attempt, copy what it left to the shared folder, and power off."""
    _ATTEMPT.mkdir(parents=True)
    work = handed.read_work(SHARED)
    planned = work.setup.plan(work.trial)
    time.sleep(_BEGINS_S - time.monotonic())
    result = _result(planned, work.setup)
    if (_ATTEMPT / ARTIFACTS).exists():
        shutil.copytree(_ATTEMPT / ARTIFACTS, SHARED / ARTIFACTS)
    handed.write_result(SHARED, result)
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)


def _result(planned: TrialPlan, setup: CampaignSetup) -> dict[str, Any]:
    try:
        phases = asyncio.run(runner.run(planned, setup, _ATTEMPT / ARTIFACTS))
    except (BedError, HostError) as error:
        return {"broken": str(error)}
    return {"phases_s": phases.seconds}


if __name__ == "__main__":
    main()
