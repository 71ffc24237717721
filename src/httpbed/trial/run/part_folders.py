"""Bounds the folders of a trial's parts while they run, and cleans them up afterwards.

A part may write anything to its folder. The kernel bounds each file, but not their number. So
httpbed checks the folder while the part runs, and ends the trial when it holds too much. A part may
also leave what stops a reader: a folder that is closed to its owner, a named pipe, a link, deeply
nested folders. When all its processes have ended, :func:`claim` takes the folder over, removes
everything but plain files and folders, and reports what was wrong. That is a failure of the part.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.host.sandbox import removal

CHECK_S = 0.25
"""Seconds between two checks, in which a fast disk takes some 500 MB."""
MOST_NAMES = 4096
"""Most files and folders of a part: programs write a few logs, a page load some 100 pictures."""
DEEPEST = 32
"""Deepest nesting of folders: each level takes an open descriptor."""
_FILE_BYTES = 4096
"""What the smallest file takes on a disk."""
_KEPT_BYTES = 2**20
"""Bytes kept of each file of a folder that holds too much."""
_KEPT_FILES = 64
_MOST_REASONS = 4
_LONGEST_NAME = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


async def until_excess(look: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Check until a folder holds too much; return what :func:`excess` reports."""
    while not (found := look()):  # noqa: ASYNC110 - programs send no event
        await asyncio.sleep(CHECK_S)
    return found


def excess(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Return why a folder holds more than ``most`` bytes or cannot be read, by name."""
    reasons = {name: _wrong(artifacts / name, bound) for name, bound in most.items()}
    return {name: f"{wrong}, and was ended" for name, wrong in reasons.items() if wrong}


def _wrong(folder: Path, most: int) -> str:
    """Return what is wrong with a folder, as soon as it is known."""
    total = 0
    try:
        for names, entry in enumerate(_walk(folder), start=1):
            total += entry.about.st_size + _FILE_BYTES
            if wrong := _beyond(total, most, names, entry):
                return wrong
    except (FileNotFoundError, NotADirectoryError):
        return "put something else in its folder's place"
    except PermissionError:
        return "closed its folder"
    return ""


def _beyond(total: int, most: int, names: int, last: _Entry) -> str:
    """Return which bound is passed by the bytes and names so far, or by the last one."""
    if total >= most:
        return f"wrote more than {most / 1e6:.0f} MB into its folder"
    if names > MOST_NAMES:
        return f"made more than {MOST_NAMES} files and folders in its folder"
    if last.depth > DEEPEST:
        return f"made folders more than {DEEPEST} deep in its folder"
    return f"closed {last.called} in its folder" if last.is_closed else ""


def claim(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Take over the folders of parts that have ended, and clean them up.

    Every file and folder then belongs to this user. What is not a plain file or folder, has a name
    that is not text, or lies too deep is removed. Files beyond a bound are cut. Files of the bed
    beside the folders are taken over, too.

    Args:
        artifacts: The attempt's folder; nothing writes to it any more.
        most: Upper bound of each part's bytes, by its folder's name.

    Returns:
        What was wrong with each folder, by its name.
    """
    removal.take_over(artifacts)
    handle = os.open(artifacts, _FOLDER)
    try:
        for entry in os.scandir(artifacts):
            if entry.is_file(follow_symlinks=False):
                removal.take_over(entry.name, handle)
    finally:
        os.close(handle)
    reasons = {name: _claimed(artifacts / name, bound) for name, bound in most.items()}
    return {name: wrong for name, wrong in reasons.items() if wrong}


def _claimed(folder: Path, most: int) -> str:
    try:
        was_closed = removal.take_over(folder)
    except (FileNotFoundError, NotADirectoryError):
        return "put something else in its folder's place"
    wrong = dict.fromkeys(["closed its folder"] if was_closed else [])
    total, beyond = 0, False
    for names, entry in enumerate(_walk(folder, taking_over=True), start=1):
        total += entry.about.st_size + _FILE_BYTES
        misplaced = _misplaced(entry)
        if misplaced:
            removal.remove(entry.name, entry.folder)
        if reason := misplaced or _beyond(total, most, names, entry):
            wrong.setdefault(reason)
        beyond |= total >= most or names > MOST_NAMES
    if beyond:
        cut(folder)
    return "; ".join([*wrong][:_MOST_REASONS])


def _misplaced(entry: _Entry) -> str:
    """Return why an entry is removed; empty if it stays."""
    if kind := _KINDS.get(stat.S_IFMT(entry.about.st_mode)):
        return f"left {kind}, {entry.called}"
    if not entry.name.isprintable():
        return f"left a name that is no text, {entry.called}"
    if entry.depth > DEEPEST:
        return f"made folders more than {DEEPEST} deep in its folder"
    return ""


def cut(folder: Path) -> None:
    """Keep only the beginnings of some files, once no process writes to them."""
    kept = 0
    try:
        for entry in _walk(folder):
            if stat.S_ISDIR(entry.about.st_mode):
                continue
            if kept < _KEPT_FILES and stat.S_ISREG(entry.about.st_mode):
                _truncate(entry)
                kept += 1
            else:
                os.unlink(entry.name, dir_fd=entry.folder)
    except (FileNotFoundError, NotADirectoryError):
        return


def _truncate(entry: _Entry) -> None:
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(entry.name, flags, dir_fd=entry.folder)
    try:
        os.ftruncate(handle, min(_KEPT_BYTES, entry.about.st_size))
    finally:
        os.close(handle)


@dataclass(frozen=True)
class _Entry:
    """An entry of a folder, or of one below it."""

    folder: int
    """Descriptor of its folder."""
    name: str
    about: os.stat_result
    """Its status as the part left it; of a link, the link's own."""
    depth: int

    @property
    def is_closed(self) -> bool:
        """Whether its owner may not read it or look into it; root's rights do not count."""
        wanted = {stat.S_IFDIR: stat.S_IRWXU, stat.S_IFREG: stat.S_IRUSR}
        bits = wanted.get(stat.S_IFMT(self.about.st_mode), 0)
        return self.about.st_mode & bits != bits

    @property
    def called(self) -> str:
        """Its name in printable characters."""
        return ascii(
            self.name if len(self.name) <= _LONGEST_NAME else f"{self.name[:_LONGEST_NAME]}..."
        )


def _walk(folder: Path, *, taking_over: bool = False) -> Iterator[_Entry]:
    """Yield the entries below a folder, while a program may change them.

    It follows no link. It descends one level past the limit, to detect the excess. With
    ``taking_over``, every entry is made this user's before it is opened.

    Raises:
        FileNotFoundError: The folder is gone.
        NotADirectoryError: Something else is in its place.
    """
    handle = os.open(folder, _FOLDER)
    try:
        yield from _inside(handle, 1, taking_over=taking_over)
    finally:
        os.close(handle)


def _inside(folder: int, depth: int, *, taking_over: bool) -> Iterator[_Entry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                about = entry.stat(follow_symlinks=False)
                if taking_over:
                    removal.take_over(entry.name, folder)
                yield _Entry(folder, entry.name, about, depth)
                if not stat.S_ISDIR(about.st_mode) or depth > DEEPEST:
                    continue
                handle = os.open(entry.name, _FOLDER, dir_fd=folder)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
            try:
                yield from _inside(handle, depth + 1, taking_over=taking_over)
            finally:
                os.close(handle)
