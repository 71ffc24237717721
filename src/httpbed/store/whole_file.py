"""Writes a user's file whole or not at all: a full disk leaves what was there."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write(file: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it. A pipe or device is written to as it is.

    Raises:
        OSError: It cannot be written.
    """
    if not _is_replaceable(file):
        file.write_bytes(content)
        return
    target = Path(os.path.realpath(file))  # a link stays, and its target is replaced
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _is_replaceable(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except FileNotFoundError:
        return True
