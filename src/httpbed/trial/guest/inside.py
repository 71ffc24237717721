"""The first process of a guest: it runs the attempt that was handed over, and powers off.

python -m httpbed.trial.guest.inside
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError, HostError
from httpbed.host.guest.command import POWER_OFF, SHARED
from httpbed.trial.guest import handed
from httpbed.trial.guest.handed import ARTIFACTS, Work
from httpbed.trial.run import runner

_ATTEMPT = Path("/run/httpbed-attempt")
"""The attempt's folder: in the guest's memory, as the shared folder has no owners."""


def main() -> None:
    """Run the attempt, copy what it left to the shared folder, and power off."""
    _ATTEMPT.mkdir(parents=True)
    result = _result(handed.read_work(SHARED))
    if (_ATTEMPT / ARTIFACTS).exists():
        shutil.copytree(_ATTEMPT / ARTIFACTS, SHARED / ARTIFACTS)
    handed.write_result(SHARED, result)
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)


def _result(work: Work) -> dict[str, Any]:
    planned = work.setup.plan(work.trial)
    try:
        phases = asyncio.run(runner.run(planned, work.setup, _ATTEMPT / ARTIFACTS))
    except (BedError, HostError) as error:
        return {"broken": str(error)}
    return {"phases_s": phases.seconds}


if __name__ == "__main__":
    main()
