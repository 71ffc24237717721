"""The lock on a campaign: one run works on it at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store.layout import LOCK


def is_held(directory: Path) -> bool:
    """Return whether a run works on the campaign now.

    Reads the kernel's list of locks (proc(5), /proc/locks), because a test would take the lock.
    """
    try:
        inode = (directory / LOCK).stat().st_ino
        held = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    return any(f":{inode} " in line for line in held.splitlines() if " FLOCK " in line)


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Lock the campaign; the kernel releases the lock when the process ends, however it ends."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(directory / LOCK, flags, 0o666), "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another run works on this campaign"
            remedy = "wait for it, or choose another folder with -o"
            raise ConfigError([Mistake(str(directory), reason, remedy)]) from None
        yield
