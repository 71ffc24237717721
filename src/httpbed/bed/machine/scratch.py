"""Folders of processes that run, on the disk of the machine's cache.

A lock says that the process lives. What a killed process left is removed when the next folder is
made.

::

    <cache>/scratch/lock              held while a folder is made or removed
                    a8s2.../lock      held while the process lives
                            worker/   the folder, named by its purpose
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from httpbed.base import folders

_LOCK = "lock"
_HELD: list[int] = []
"""Descriptors of the locks that this process holds until it ends."""


def make(purpose: str) -> Path:
    """Make a folder that this process has until it ends."""
    folder, lock = _made(purpose)
    _HELD.append(lock)
    return folder


@contextmanager
def temporary(purpose: str) -> Iterator[Path]:
    """Make a folder; remove it with all that is in it afterwards."""
    folder, lock = _made(purpose)
    try:
        yield folder
    finally:
        making = _locked(folder.parent.parent, fcntl.LOCK_EX)
        os.close(lock)  # NFS keeps the name of an open file, and so its folder
        try:
            shutil.rmtree(folder.parent)
        except OSError as error:
            # A thread of an interrupted run may still write there; the next process removes it.
            if error.errno not in {errno.ENOENT, errno.ENOTEMPTY}:
                raise
        finally:
            os.close(making)


def _made(purpose: str) -> tuple[Path, int]:
    """Make a folder, and remove those of processes that have ended; return it and its lock."""
    above = folders.cache() / "scratch"
    above.mkdir(parents=True, exist_ok=True)
    making = _locked(above, fcntl.LOCK_EX)
    try:
        for left in [path for path in above.iterdir() if path.is_dir() and _is_left(path)]:
            with suppress(OSError):  # it may be another user's
                shutil.rmtree(left)
        home = Path(tempfile.mkdtemp(dir=above))
        home.chmod(0o755)  # programs of root's trials run as another user
        (home / purpose).mkdir()
        return home / purpose, _locked(home, fcntl.LOCK_EX)
    finally:
        os.close(making)


def _is_left(folder: Path) -> bool:
    """Whether the process that made a folder has ended."""
    try:
        os.close(_locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _locked(folder: Path, operation: int) -> int:
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, operation)
    except OSError:
        os.close(handle)
        raise
    return handle
