"""Files that a user names: read without waiting for what may never come.

Whoever opens a named pipe waits until somebody writes into it, and a device may never end. A link
is followed, for a user may have links; what it leads to must be a regular file. The pipe of a
shell's ``<(...)`` is under ``/dev/fd``, ends by itself, and is read.
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
    """What has this name is no regular file; the message says what it is."""


def read(file: Path, most: int) -> bytes:
    """Return a file's bytes, at most one more than ``most``, so that longer ones are noticed.

    Raises:
        NotAFileError: It is something else.
        OSError: It is not there, or not to be read.
    """
    _require_file(file, file.stat().st_mode)
    # It may have become a pipe meanwhile: opening it must not wait either.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        _require_file(file, os.fstat(handle).st_mode)
        os.set_blocking(handle, True)
        return opened.read(most + 1)


def _require_file(file: Path, mode: int) -> None:
    is_passed_on = stat.S_ISFIFO(mode) and str(file).startswith(_PASSED_ON)
    if not stat.S_ISREG(mode) and not is_passed_on:
        raise NotAFileError(f"is {_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")
