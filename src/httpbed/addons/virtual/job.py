"""A job of httpbed's own Python in a guest: handed over before the boot, with a result at its end.

The host writes the work and the first program into a folder that the guest reads; the guest leaves
the result in another one. Nothing is asked of the host meanwhile. Whatever is left is read as a
file of a program under test.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.virtual import first_process, guest_modules
from httpbed.addons.virtual.visible_files import HANDED, SHARED
from httpbed.base import folders, untrusted_files
from httpbed.base.errors import BedError, HostError, visible

_WORK, _RESULT = "work.pickle", "result.json"
_BROKEN = "broken"
"""Key of a result: why the job was broken off."""
_LONGEST_REASON = 2000
RESULT_BYTES = 2**25
"""Most bytes of a result: an object of phases, or of a command and its link."""
READABLE = 0o755
"""Mode of what is handed over."""
_READ_ONLY = "PYTHONDONTWRITEBYTECODE"
"""A variable of Python: it writes no compiled modules."""
_BEGINS_S = 1
"""When the work begins, in seconds since boot. Each reading of the clock takes virtual time, and
how often Python reads it until then depends on its files."""
_ABSOLUTE = 1
"""``TIMER_ABSTIME`` of clock_nanosleep(2)."""


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


@dataclass(frozen=True)
class Handed:
    """What a guest gets."""

    folder: Path
    """The folder with its work and its first program."""
    seen: Sequence[Path]
    """What it needs of this machine to do the work."""


def hand_over(
    folder: Path,
    module: str,
    work: object,
    written: Path | None = None,
    later: tuple[str, ...] = (),
) -> Handed:
    """Write the work and the guest's first program, which runs ``module`` with this Python.

    Args:
        folder: Gets the folder of both.
        module: Its ``main`` does the work.
        work: Is pickled.
        written: A folder of this machine that the guest writes to.
        later: Names of modules that the job imports while it runs.

    Raises:
        BedError: The job's modules cannot be written.
    """
    from httpbed.addons.virtual import command, visible_files  # noqa: PLC0415 - guests do without

    handed = folder / "handed"
    handed.mkdir(mode=READABLE)
    write_work(handed, work)
    (handed / guest_modules.FILE).write_bytes(_modules(module, *later))
    program = handed / command.INIT
    program.write_text(command.init(module, _environment(), written))
    for path in (handed, *handed.iterdir()):  # whatever the mask: a guest of root is another user's
        path.chmod(READABLE)
    return Handed(handed, visible_files.of_python())


def write_work(handed: Path, work: object) -> None:
    """Pickle a guest's work. The same httpbed reads it; only this user can write to the folder."""
    (handed / _WORK).write_bytes(pickle.dumps(work))


def read_work(handed: Path) -> Any:
    """Read a guest's work."""
    return pickle.loads((handed / _WORK).read_bytes())  # noqa: S301 - see write_work


def perform(act: Callable[[Any], dict[str, Any]]) -> None:
    """Be the first process of a guest: do the work, leave what ``act`` returns, and power off.

    An exception is left as the reason why the job was broken off. Without that the kernel would
    panic, and its messages would hide the reason.
    """
    first_process.make_root()
    try:
        result = act(read_work(HANDED))
    except (BedError, HostError) as error:
        result = {_BROKEN: str(error)}
    except Exception as error:  # noqa: BLE001 - see above
        result = {_BROKEN: f"httpbed failed in the guest: {type(error).__name__}: {error}"}
    write_result(SHARED, result)
    first_process.power_off()


def main() -> None:
    """Do nothing: this module as a job shows whether this machine runs guests."""
    perform(lambda _: {})


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


def write_result(left: Path, result: dict[str, Any]) -> None:
    """Write a job's result."""
    (left / _RESULT).write_text(json.dumps(result))


def read_result(left: Path) -> dict[str, Any]:
    """Return a job's result; only the caller knows what its values must be.

    Raises:
        BedError: The bed broke the job off in the guest, or the guest left no readable result.
    """
    try:
        text = untrusted_files.text(left / _RESULT, most=RESULT_BYTES)
        result = untrusted_files.large_json(text, _RESULT)
    except FileNotFoundError:
        raise BedError("the guest powered off without a result") from None
    except ValueError as error:
        raise unreadable(str(error)) from None
    if not isinstance(result, dict):
        raise unreadable("it is no object")
    if _BROKEN in result:
        raise BedError(visible(str(result[_BROKEN]))[:_LONGEST_REASON])
    return result


def unreadable(reason: str) -> BedError:
    """Return the error for a result that is not what the job leaves."""
    return BedError(f"the guest's result cannot be read: {reason}")


@functools.cache
def _modules(*names: str) -> bytes:
    """Return modules, and what they import, as a guest reads them.

    Raises:
        BedError: Python cannot write them.
    """
    from httpbed.bed.machine import scratch  # noqa: PLC0415 - guests do without

    of_user = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment = {**of_user, **_environment()}
    if not sys.dont_write_bytecode:
        del environment[_READ_ONLY]
    with scratch.temporary("modules") as folder:
        file = folder / guest_modules.FILE
        program = f"from {guest_modules.__name__} import write as w; w({str(file)!r}, {names!r})"
        ended = subprocess.run(
            [sys.executable, "-P", "-c", program],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if ended.returncode != 0:
            *_, last = ["", *ended.stderr.decode(errors="replace").splitlines()]
            raise BedError(f"the modules of a guest's job cannot be written: {visible(last)}")
        return file.read_bytes()


def _environment() -> dict[str, str]:
    """Return the environment of Python in the guest."""
    return {
        "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place),  # noqa: PTH100
        "PYTHONHASHSEED": "0",
        _READ_ONLY: "1",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # it would look for some in every package
        "HTTPBED_CACHE": str(folders.cache()),
    }
