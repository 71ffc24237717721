"""Files on the disk: written whole or not at all, flushed, and their digests.

A file system may keep a new file's name and lose its bytes unless the program flushes both to the
disk (fsync(2)) before the rename that makes the file, or its folder, part of a campaign. So a power
cut leaves each file complete or missing, and a full disk leaves what was there.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from httpbed.base.errors import HostError

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
    """Replace a file of a campaign; readers see either the old or the new one, complete.

    A run that is killed leaves one unfinished file at most, which the next one writes again.
    """
    _put(path, content, path.with_name(f".{path.name}"))
    settle([path.parent])


def write_record(path: Path, record: Mapping[str, Any]) -> Path:
    """Replace a JSON record of the user's, even while others write it; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _put(path, f"{json.dumps(record, indent=1)}\n".encode(), _unknown(path), 0o600)
    return path


def write_output(file: Path, content: bytes) -> None:
    """Write a file that the user named. A pipe or device is written to as it is.

    A file that is there keeps its permissions, and one without write permission stays as it is.
    A link stays, and its target is replaced.

    Raises:
        OSError: It cannot be written.
    """
    if _is_replaceable(file):
        _put_in_place(file, Path(os.path.realpath(file)), content)
    else:
        file.write_bytes(content)


def write_beside(file: Path, content: bytes) -> None:
    """Write a file into a campaign's folder, in place of whatever has its name.

    No link is followed: a campaign comes from anywhere, and so do the links in its folder.

    Raises:
        OSError: It cannot be written.
    """
    _put_in_place(file, file, content)


def _put_in_place(file: Path, target: Path, content: bytes) -> None:
    """Write a file with the permissions of the one whose place it takes."""
    is_there = target.exists() and not target.is_symlink()
    try:
        if is_there and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mode = stat.S_IMODE(target.stat().st_mode) if is_there else None
        _put(target, content, _unknown(target), mode)
    except OSError as error:
        error.filename = str(file)
        raise


def let_read(folder: Path) -> None:
    """Let every user read a folder with all below it, whatever the mask of this one.

    Programs under test run as another user.
    """
    for place, _, names in os.walk(folder):
        Path(place).chmod(0o755)
        for name in names:
            Path(place, name).chmod(0o644)


def _unknown(target: Path) -> Path:
    """Return a name beside a file: no other program can have put a link in its place."""
    return target.with_name(f".httpbed-{secrets.token_hex(4)}")


def _put(target: Path, content: bytes, unfinished: Path, mode: int | None = None) -> None:
    try:
        write(unfinished, content)
        if mode is not None:
            unfinished.chmod(mode)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_replaceable(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True


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


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file that httpbed made or checked before, in hexadecimal.

    What a program under test left may be a link or a pipe: :mod:`httpbed.base.digests` reads that.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# The modification time of files that servers serve.
#
# Servers send it (Last-Modified, ETag), and HPACK and QPACK encode other digits in another number
# of bytes. So it is the same for every user, whenever the files were made.


FIXED_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_FIXED_NS = int(FIXED_TIME.timestamp()) * 10**9


def fix_time(file: Path) -> None:
    """Give a file the fixed time.

    Raises:
        HostError: It has another time and belongs to another user, who shares the cache.
    """
    if file.stat().st_mtime_ns == _FIXED_NS:
        return
    try:
        os.utime(file, ns=(_FIXED_NS, _FIXED_NS))
    except PermissionError:
        reason = f"{file} belongs to another user and has another modification time"
        raise HostError(reason, "set HTTPBED_CACHE to a folder of yours") from None


def fix_times_below(folder: Path) -> None:
    """Give all files below a folder the fixed time.

    Raises:
        HostError: As :func:`fix`.
    """
    for file in folder.rglob("*"):
        if file.is_file():
            fix_time(file)
