"""The lock on a campaign: one run works on it at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from httpbed.base.errors import ConfigError, Mistake
from httpbed.store.layout import LOCK

_LOCKS = Path("/proc/locks")
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)


def is_held(directory: Path) -> bool:
    """Return whether a run works on the campaign now.

    Reads the kernel's list of locks (proc(5), /proc/locks), because a test would take the lock.
    """
    try:
        with _opened(directory, _PATH_ONLY) as file:
            name = _name_of(file.fileno())
        held = _LOCKS.read_text(encoding="ascii")
    except (OSError, ValueError):  # another system, or a kernel before Linux 3.15
        return False
    return any(f" {name} " in line for line in held.splitlines() if " FLOCK " in line)


def _name_of(handle: int) -> str:
    """Return how the kernel's list of locks names an open file: by device and inode.

    The device is that of the file's mount (proc(5), mountinfo). Some file systems, such as btrfs,
    give their files other devices (stat(2)).
    """
    fields = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii").split()
    mount = fields[fields.index("mnt_id:") + 1]
    mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    devices = {words[0]: words[2] for words in map(str.split, mounts)}
    major, minor = map(int, devices.get(mount, "").split(":"))
    return f"{major:02x}:{minor:02x}:{os.fstat(handle).st_ino}"


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Lock the campaign; the kernel releases the lock when the process ends, however it ends."""
    with _opened(directory, os.O_RDWR | os.O_CREAT) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reason = "another run works on this campaign"
            remedy = "wait for it, or choose another folder with -o"
            raise ConfigError([Mistake(str(directory), reason, remedy)]) from None
        yield


@contextmanager
def _opened(directory: Path, flags: int) -> Iterator[FileIO]:
    """Open the file of the lock; not a link or a pipe in its place."""
    flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with FileIO(os.open(directory / LOCK, flags, 0o666)) as file:
        yield file
