"""Folders that may or may not hold a campaign, and the lock on one: one run works on it."""

from __future__ import annotations

import difflib
import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from httpbed.base import digests, disk
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.store import layout
from httpbed.store.layout import FILES, LINKS, LOCK

_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
FROM_A_COPY = "restore what is missing from a copy"


def require_campaign(directory: Path) -> None:
    """Raise ConfigError if a folder lacks files that every campaign has, or is no folder."""
    absent = layout.absent_files(directory)
    if not os.path.lexists(directory):
        reason, remedy = "is not a campaign: there is no such folder", _similar(directory)
    elif not directory.is_dir():
        reason, remedy = "is not a campaign: it is not a folder", "name the folder of a campaign"
    elif absent:
        reason = f"is not a campaign: {_not_found(absent)}"
        remedy = FROM_A_COPY if len(absent) == 1 else "httpbed run makes one"
    else:
        return
    raise ConfigError([Mistake(str(directory), reason, remedy)])


def _similar(directory: Path) -> str:
    """Ask whether a campaign of a similar name is meant, or say what makes one."""
    try:
        beside = {
            path.name: path for path in directory.parent.iterdir() if layout.is_campaign(path)
        }
    except OSError:
        beside = {}
    close = difflib.get_close_matches(directory.name, beside, 1)
    return f"did you mean {beside[close[0]]}?" if close else "httpbed run makes one"


def _not_found(names: list[str]) -> str:
    return f"{', '.join(names)} not found"


def require_own(directory: Path) -> None:
    """Refuse links in the places of a campaign's folders: their targets are not verified."""
    strange = [
        directory / name
        for name in layout.FOLDERS
        if os.path.lexists(directory / name) and not digests.is_folder(directory / name)
    ]
    if strange:
        reason, remedy = "is not a folder of its own", "move the folder itself here"
        raise ConfigError([Mistake(str(path), reason, remedy) for path in strange])


def make(directory: Path) -> None:
    """Make a folder, and flush its name to the disk."""
    if not directory.is_dir():
        directory.mkdir(parents=True, exist_ok=True)
        disk.settle([directory.resolve().parent])


def refuse_foreign(directory: Path) -> None:
    """Refuse a folder of other files, and a place below a file."""
    nearest = _nearest(directory)
    if not nearest.is_dir():
        raise ConfigError([Mistake(str(nearest), "is not a folder", "choose another with -o")])
    require_none(_inside(directory))
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    begun = "lock" in names and names <= {"lock", ".manifest", LINKS, *FILES}  # and then broken off
    absent = layout.absent_files(directory)
    if names and absent and not begun:
        reason, remedy = "holds other files than a campaign's", "choose another folder with -o"
        if len(absent) == 1:  # an author may have one file of such a name
            reason = f"holds a part of a campaign: {_not_found(absent)}"
            remedy = f"{FROM_A_COPY}, or {remedy}"
        raise ConfigError([Mistake(str(directory), reason, remedy)])
    require_own(directory)


def not_new(directory: Path) -> list[Mistake]:
    """Return why a folder cannot be that of a new campaign; nothing if it is new or empty."""
    if os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        reason, remedy = "exists and is not an empty folder", "choose another folder with -o"
        return [Mistake(str(directory), reason, remedy)]
    return _inside(directory)


def _inside(directory: Path) -> list[Mistake]:
    if not layout.is_own_file(directory):
        return []
    return [Mistake(str(directory), "is part of a campaign", "choose another folder with -o")]


def require_usable(directory: Path) -> None:
    """Refuse a folder of other files, and one in which nothing can be created.

    :raises OSError: when this machine cannot now, for example because the disk is full.
    """
    refuse_foreign(directory)
    require_writable(directory)


def require_writable(directory: Path) -> None:
    """Create and remove a file without a name where a run would make its first one.

    Raises:
        ConfigError: Nothing can be created there, as in /proc.
        OSError: This machine cannot now, for example because the disk is full.
    """
    try:
        with tempfile.TemporaryFile(dir=_nearest(directory)):
            pass
    except OSError as error:
        if error.errno not in _REFUSED:
            error.filename = str(directory)
            raise
        reason = f"no file can be created there ({error.strerror})"
        mistake = Mistake(str(directory), reason, "choose another folder with -o")
        raise ConfigError([mistake]) from None


def _nearest(directory: Path) -> Path:
    """Return the folder, or the nearest above it that exists."""
    return next(path for path in (directory, *directory.parents) if os.path.lexists(path))


# The lock on a campaign: one run works on it at a time.


_LOCKS = Path("/proc/locks")
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)


def is_locked(directory: Path) -> bool:
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
def locked(directory: Path) -> Iterator[None]:
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
