"""Taking ownership of, and removing, files and folders that programs under test left.

A program may remove its own access rights, and nest folders deeper than the limits of descriptors
and recursion. In a sandbox of root they belong to another user.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

NOT_WRITABLE = 0o755
"""Mode bits that a program's file may keep."""
_PLACE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _PLACE | os.O_DIRECTORY


def take_over(name: str | Path, folder: int | None = None) -> bool:
    """Make a file or folder belong to this user, readable, and a folder also writable.

    Symbolic links and their targets stay unchanged.

    Args:
        name: A path, or a name in ``folder``.
        folder: Descriptor of a folder.

    Returns:
        Whether its owner lacked these rights.

    Raises:
        FileNotFoundError: It does not exist.
        NotADirectoryError: ``name`` is a path, and does not lead to a folder.
    """
    flags = _FOLDER if folder is None else _PLACE
    handle = os.open(name, flags, dir_fd=folder)
    try:
        about = os.fstat(handle)
        wanted = stat.S_IRWXU if stat.S_ISDIR(about.st_mode) else stat.S_IRUSR | stat.S_IWUSR
        if stat.S_ISLNK(about.st_mode):
            return False
        if about.st_uid != os.geteuid():
            os.chown(f"/proc/self/fd/{handle}", os.geteuid(), os.getegid())
        # Drop setuid, setgid and sticky bits, and write access of group and others.
        mode = stat.S_IMODE(about.st_mode) & NOT_WRITABLE | wanted
        if mode != stat.S_IMODE(os.fstat(handle).st_mode):
            os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101
        return about.st_mode & wanted != wanted
    finally:
        os.close(handle)


def remove(name: str | Path, folder: int | None = None) -> None:
    """Remove a file, or a folder with its content, whatever a program did to it.

    A tree may be deeper than the limit of open descriptors. So each inner folder is first moved up
    beside the top folder, and at most two folders are open at a time.

    Raises:
        OSError: Some of the content belongs to another user.
    """
    parent, own = (folder, False) if folder is not None else (_parent(Path(name)), True)
    try:
        _remove_all(Path(name).name if own else str(name), parent)
    finally:
        if own:
            os.close(parent)


def _parent(path: Path) -> int:
    return os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _remove_all(name: str, parent: int) -> None:
    if not _is_folder(name, parent):
        os.unlink(name, dir_fd=parent)
        return
    waiting = [name]
    while waiting:
        current = waiting.pop()
        take_over(current, parent)
        handle = os.open(current, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            for inner in os.listdir(handle):  # noqa: PTH208 - of a descriptor
                if not _is_folder(inner, handle):
                    os.unlink(inner, dir_fd=handle)
                    continue
                take_over(inner, handle)
                moved = f".removing-{secrets.token_hex(8)}"
                os.rename(inner, moved, src_dir_fd=handle, dst_dir_fd=parent)
                waiting.append(moved)
        finally:
            os.close(handle)
        os.rmdir(current, dir_fd=parent)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
