"""Writes a user's file whole or not at all: a full disk leaves what was there."""

from __future__ import annotations

import errno
import os
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
    target = Path(os.path.realpath(file))  # a link stays, and its target is replaced
    unfinished = target.with_name(f".httpbed-{os.getpid()}")  # fits where the target's name does
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
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    unfinished.write_bytes(content)
    if target.exists():
        shutil.copymode(target, unfinished)


def _is_replaceable(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True
