"""Files that the user names: read without blocking, and never replaced by another kind of file.

Opening a named pipe blocks until a writer opens it, and a device may never end. So only regular
files are read; symbolic links to them are followed. The exception is the pipe of a shell's
``<(...)``, which is under ``/dev/fd`` and ends by itself.

An output may replace an empty file, or a file of its own kind. Whether a file has that kind is
decided by its first bytes, as its name is the user's.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_PASSED_ON = ("/dev/fd/", "/dev/stdin", "/proc/")


_START_BYTES = 1024


@dataclass(frozen=True)
class Kind:
    """A kind of file that httpbed writes."""

    words: str
    """With its article, for messages."""
    start: re.Pattern[bytes]
    """Matches the beginning of every file of this kind."""


class NotAFileError(ValueError):
    """The path does not lead to a regular file; the message says what is there."""


def read(file: Path, most: int) -> bytes:
    """Return a file's first ``most`` + 1 bytes, so that the caller can detect a longer file.

    Raises:
        NotAFileError: It is not a regular file.
        OSError: It is missing or unreadable.
    """
    with opened(file) as stream:
        return stream.read(most + 1)


@contextmanager
def opened(file: Path) -> Iterator[BufferedReader]:
    """Open a file for reading; raises as :func:`read`."""
    _require_file(file, file.stat().st_mode)
    # Another process may have put a pipe there meanwhile: this open must not block either.
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        _require_file(file, os.fstat(handle).st_mode)
        os.set_blocking(handle, True)
        yield stream


def unlike(file: Path, kind: Kind) -> str | None:
    """Return why an output of this kind must not replace what is there; None if it may.

    What is not a regular file, such as a pipe or ``/dev/null``, keeps nothing that could be lost.
    """
    if not file.is_file():
        return None
    try:
        start = read(file, _START_BYTES)
    except OSError as error:
        return f"exists and cannot be read ({error.strerror})"
    return f"exists and is not {kind.words}" if start and not kind.start.match(start) else None


def _require_file(file: Path, mode: int) -> None:
    is_passed_on = stat.S_ISFIFO(mode) and str(file).startswith(_PASSED_ON)
    if not stat.S_ISREG(mode) and not is_passed_on:
        raise NotAFileError(f"is {_KINDS.get(stat.S_IFMT(mode), 'a special file')}, not a file")
