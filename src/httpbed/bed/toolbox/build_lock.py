"""The lock of a build that one process makes and others wait for.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held(file: Path, built: str, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock ``file`` of what is built; report a wait; yield the lock's descriptor."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds {built}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
