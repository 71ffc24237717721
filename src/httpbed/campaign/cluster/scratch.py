"""The folder in which a worker runs its blocks, on the disk of the machine's cache.

A lock says that the worker lives. What a killed worker left is removed by the next one.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from httpbed.host import folders
from httpbed.host.sandbox import removal

_LOCK = "lock"
_HELD: list[int] = []
"""Descriptors of the locks that this process holds until it ends."""


def make() -> Path:
    """Make a folder for this process's blocks, and remove those of workers that have ended."""
    above = folders.cache() / "worker"
    above.mkdir(parents=True, exist_ok=True)
    for left in [one for one in above.iterdir() if _is_left(one)]:
        with suppress(OSError):  # another worker removes it, too
            removal.remove(left)
    folder = Path(tempfile.mkdtemp(dir=above))
    folder.chmod(0o755)  # programs of root's trials run as another user
    _HELD.append(_locked(folder))
    return folder


def _is_left(folder: Path) -> bool:
    """Whether the worker that made a folder has ended."""
    try:
        os.close(_locked(folder))
    except OSError:
        return False
    return True


def _locked(folder: Path) -> int:
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
