"""Writes files so that a power cut leaves each of them complete or missing.

A file system may keep a new file's name and lose its bytes unless the program flushes both to the
disk (fsync(2)) before the rename that makes the file, or its folder, part of a campaign.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
THREADS = 8
"""Threads that wait for the disk at the same time."""


def write(path: Path, content: bytes) -> None:
    """Write a new file and flush it to the disk; another file of its name is removed first.

    Raises:
        OSError: The file cannot be written, for example because a folder has its name.
    """
    with suppress(FileNotFoundError):
        path.unlink()  # not written to: it may be a link or a pipe
    with os.fdopen(os.open(path, _NEW, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes) -> None:
    """Replace a file; readers see either the old or the new one, complete."""
    unnamed = path.with_name(f".{path.name}")
    write(unnamed, content)
    unnamed.replace(path)
    settle([path.parent])


def append_line(path: Path, line: str) -> None:
    """Append a line to a log; a line torn by a power cut is ended first.

    Raises:
        OSError: The file cannot be written, or is a link or a pipe.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ENXIO, "Not a regular file", str(path))
    with os.fdopen(handle, "a+b") as file:
        end = file.seek(0, os.SEEK_END)
        is_torn = end > 0 and os.pread(file.fileno(), 1, end - 1) != b"\n"
        file.write(b"\n" * is_torn + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def settle(folders: Iterable[Path]) -> None:
    """Flush the names in some folders to the disk, several folders at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(_settle, folders))


def _settle(folder: Path) -> None:
    with suppress(PermissionError):  # a folder that a program under test closed
        handle = os.open(folder, _FOLDER)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a file system without fsync of folders
                raise
        finally:
            os.close(handle)
