"""A job of httpbed's own Python in a guest: handed over before the boot, with a result at its end.

Host and guest share a folder. The host writes the work and the first program into it; the guest
leaves the result there. Nothing is asked of the host meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import BedError, HostError
from httpbed.host import folders
from httpbed.host.guest import first_process
from httpbed.host.guest.command import INIT, SHARED, init
from httpbed.host.sandbox import untrusted_files

_WORK, _RESULT = "work.pickle", "result.json"
_BROKEN = "broken"
"""Key of a result: why the job was broken off."""
_WITHOUT_RESULT = "the guest powered off without a result"
_COMPILED, _READ_ONLY = "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"
"""Variables of Python: the folder of compiled modules, and that it writes none."""
_BEGINS_S = 1
"""When the work begins, in seconds since boot. Each reading of the clock takes virtual time, and
how often Python reads it until then depends on its files: whether they are compiled, and where."""
_ABSOLUTE = 1
"""``TIMER_ABSTIME`` of clock_nanosleep(2)."""


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


def hand_over(
    shared: Path,
    module: str,
    work: object,
    writable: Sequence[Path] = (),
    later: tuple[str, ...] = (),
) -> None:
    """Write the work and the guest's first program, which runs ``module`` with this Python.

    The guest writes through into the ``writable`` folders of this machine, beside the shared one.
    ``later`` names modules that the job imports while it runs.
    """
    write_work(shared, work)
    program = shared / INIT
    environment = {**_environment(), _COMPILED: str(_compiled(module, later))}
    program.write_text(init(module, environment, writable))
    program.chmod(0o755)


def write_work(shared: Path, work: object) -> None:
    """Pickle a guest's work. The same httpbed reads it; only this user can write to the folder."""
    (shared / _WORK).write_bytes(pickle.dumps(work))


def read_work(shared: Path) -> Any:
    """Read a guest's work."""
    return pickle.loads((shared / _WORK).read_bytes())  # noqa: S301 - see write_work


def perform(act: Callable[[Any], dict[str, Any]]) -> None:
    """Be the first process of a guest: do the work, leave what ``act`` returns, and power off.

    An exception is left as the reason why the job was broken off. Without that the kernel would
    panic, and its messages would hide the reason.
    """
    first_process.make_root()
    try:
        result = act(read_work(SHARED))
    except (BedError, HostError) as error:
        result = {_BROKEN: str(error)}
    except Exception as error:  # noqa: BLE001 - see above
        result = {_BROKEN: f"httpbed failed in the guest: {type(error).__name__}: {error}"}
    write_result(SHARED, result)
    first_process.power_off()


def begin() -> None:
    """Wait in the guest until the time at which every job begins, to the nanosecond.

    ``time.sleep`` takes a difference in floating point, which may be a nanosecond off.

    Raises:
        OSError: The kernel refused.
    """
    until = ctypes.byref(_Time(_BEGINS_S, 0))
    failed = ctypes.CDLL(None).clock_nanosleep(time.CLOCK_MONOTONIC, _ABSOLUTE, until, None)
    if failed:
        raise OSError(failed, os.strerror(failed))


def write_result(shared: Path, result: dict[str, Any]) -> None:
    """Write a job's result."""
    (shared / _RESULT).write_text(json.dumps(result))


def read_result(shared: Path) -> dict[str, Any]:
    """Return a job's result.

    Raises:
        BedError: The bed broke the job off in the guest, or the guest left no readable result.
    """
    try:
        text = untrusted_files.own_text(shared / _RESULT)
        result: dict[str, Any] = json.loads(text) if text else {_BROKEN: _WITHOUT_RESULT}
    except ValueError as error:
        raise BedError(f"the guest's result cannot be read: {error}") from None
    if _BROKEN in result:
        raise BedError(result[_BROKEN])
    return result


@functools.cache
def _compiled(module: str, later: tuple[str, ...]) -> Path:
    """Compile a module, what it imports and the modules ``later``; return the bytecode's folder.

    A guest keeps nothing, so it would compile each missing module again in every trial. With this
    folder set, Python reads no bytecode beside the modules.
    """
    folder = folders.cache() / "bytecode"
    environment = {**os.environ, **_environment(), _COMPILED: str(folder)}
    del environment[_READ_ONLY]
    subprocess.run(  # a failed import fails again in the guest, which reports it
        [sys.executable, "-P", "-c", f"import {', '.join((module, *later))}"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return folder


def _environment() -> dict[str, str]:
    """Return the environment of Python in the guest."""
    return {
        "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place),  # noqa: PTH100
        "PYTHONHASHSEED": "0",
        _READ_ONLY: "1",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # it would look for some in every package
        "HTTPBED_CACHE": str(folders.cache()),
    }
