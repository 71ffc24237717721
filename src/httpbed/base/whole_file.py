"""Writes a user's file whole or not at all: a full disk leaves what was there."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from pathlib import Path


def write(file: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it. A pipe or device is written to as it is.

    A file that is there keeps its permissions, and one without write permission stays as it is.

    Raises:
        OSError: It cannot be written.
    """
    if not _is_replaceable(file):
        file.write_bytes(content)
        return
    _replace(file, Path(os.path.realpath(file)), content)  # a link stays, its target is replaced


def put(file: Path, content: bytes) -> None:
    """Write a file into a campaign's folder, in place of whatever has its name.

    No link is followed: a campaign comes from anywhere, and so do the links in its folder.

    Raises:
        OSError: It cannot be written.
    """
    _replace(file, file, content)


def _replace(file: Path, target: Path, content: bytes) -> None:
    # No other program can have put a link in the place of an unknown name.
    unfinished = target.with_name(f".httpbed-{secrets.token_hex(4)}")
    try:
        _make(unfinished, content, target)
        unfinished.replace(target)
    except OSError as error:
        error.filename = str(file)
        raise
    finally:
        unfinished.unlink(missing_ok=True)


def _make(unfinished: Path, content: bytes, target: Path) -> None:
    """Write a file with the permissions of the one whose place it takes."""
    is_there = target.exists() and not target.is_symlink()
    if is_there and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    unfinished.touch(exist_ok=False)
    unfinished.write_bytes(content)
    if is_there:
        shutil.copymode(target, unfinished)


def _is_replaceable(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True
