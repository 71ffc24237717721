"""Read a file that the user names, without blocking on named pipes or endless devices.

Opening a named pipe blocks until a writer opens it, and a device may never end. So only regular
files are read; symbolic links to them are followed. The exception is the pipe of a shell's
``<(...)``, which is under ``/dev/fd`` and ends by itself.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_PASSED_ON = ("/dev/fd/", "/dev/stdin", "/proc/")


class NotAFileError(ValueError):
    """The path does not lead to a regular file; the message says what is there."""


def read(file: Path, most: int) -> bytes:
    """Return a file's first ``most`` + 1 bytes, so that the caller can detect a longer file.

    Raises:
        NotAFileError: It is not a regular file.
        OSError: It is missing or unreadable.
    """
    _require_file(file, file.stat().st_mode)
    # Another process may have put a pipe there meanwhile: this open must not block either.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        _require_file(file, os.fstat(handle).st_mode)
        os.set_blocking(handle, True)
        return opened.read(most + 1)


def _require_file(file: Path, mode: int) -> None:
    is_passed_on = stat.S_ISFIFO(mode) and str(file).startswith(_PASSED_ON)
    if not stat.S_ISREG(mode) and not is_passed_on:
        raise NotAFileError(f"is {_KINDS.get(stat.S_IFMT(mode), 'a special file')}, not a file")
