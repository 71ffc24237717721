"""Writing so that a power cut leaves a file whole or not there.

A file system may keep a new file's name and lose its bytes, unless the program asks for both to be
on the disk (fsync(2)) before the rename that makes the file, or its folder, part of a campaign.
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
_AT_ONCE = 8


def write(path: Path, content: bytes) -> None:
    """Write a new file, in the place of what had its name; its bytes are on the disk.

    Raises:
        OSError: The file cannot be written; a folder has its name, for example.
    """
    with suppress(FileNotFoundError):
        path.unlink()  # never written to: it may be a link, or a pipe that nobody reads
    with os.fdopen(os.open(path, _NEW, 0o666), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes) -> None:
    """Write a file in the place of the one before: a reader sees one of the two, whole."""
    unnamed = path.with_name(f".{path.name}")
    write(unnamed, content)
    unnamed.replace(path)
    settle([path.parent])


def append_line(path: Path, line: str) -> None:
    """Append a line to a log; after a line that a power cut tore, on a line of its own.

    Raises:
        OSError: The file cannot be written; it is a link, or a pipe that nobody reads.
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
    """Bring the names in some folders to the disk, several folders at a time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
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
