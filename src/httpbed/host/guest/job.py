"""A job of httpbed's own Python in a guest: handed over before the boot, with a result at its end.

Host and guest share a folder. The host writes the work and the first program into it; the guest
leaves the result there. Nothing is asked of the host meanwhile.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError
from httpbed.host import folders
from httpbed.host.guest.command import INIT, POWER_OFF, SHARED, init
from httpbed.host.sandbox import untrusted_files

_WORK, _RESULT = "work.pickle", "result.json"
_BEGINS_S = 1.0
"""When the work begins, in seconds since boot. Each reading of the clock takes virtual time, and
how often Python reads it until then depends on its files: whether they are compiled, and where."""


def hand_over(shared: Path, module: str, work: object, writable: Sequence[Path] = ()) -> None:
    """Write the work and the guest's first program, which runs ``module`` with this Python.

    The guest writes through into the ``writable`` folders of this machine, beside the shared one.
    """
    write_work(shared, work)
    program = shared / INIT
    program.write_text(init((sys.executable, "-P", "-m", module), _environment(), writable))
    program.chmod(0o755)


def write_work(shared: Path, work: object) -> None:
    """Write a guest's work, for the same httpbed in a folder of this user alone."""
    (shared / _WORK).write_bytes(pickle.dumps(work))


def read_work(shared: Path = SHARED) -> Any:
    """Read a guest's work, in the guest."""
    return pickle.loads((shared / _WORK).read_bytes())  # noqa: S301 - see write_work


def begin() -> None:
    """Wait in the guest until the time at which every job begins."""
    time.sleep(_BEGINS_S - time.monotonic())


def end(result: dict[str, Any]) -> None:
    """Write the job's result, or why it was ``broken`` off, and power the guest off."""
    write_result(SHARED, result)
    os.sync()
    ctypes.CDLL(None).reboot(POWER_OFF)


def write_result(shared: Path, result: dict[str, Any]) -> None:
    """Write a job's result."""
    (shared / _RESULT).write_text(json.dumps(result))


def read_result(shared: Path) -> dict[str, Any]:
    """Return a job's result.

    Raises:
        BedError: The bed broke the job off in the guest, or the guest left no result.
    """
    text = untrusted_files.own_text(shared / _RESULT)
    if not text:
        raise BedError("the guest powered off without a result")
    result: dict[str, Any] = json.loads(text)
    if "broken" in result:
        raise BedError(result["broken"])
    return result


def _environment() -> dict[str, str]:
    """Return the environment of Python in the guest."""
    return {
        "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place),  # noqa: PTH100
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HTTPBED_CACHE": str(folders.cache()),
    }
