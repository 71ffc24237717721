"""The folders that the parts of a trial leave on disk: bounded while they run, then put in order.

A part may write to its folder whatever it likes. The kernel bounds each file; a program gone wild
may write any number of them. So httpbed looks at the folder while the part runs, and ends the trial
when it holds too much. A part may also leave what the next reader stumbles over: a folder that is
closed to its owner, a named pipe, a link, a thousand folders in each other. When all its processes
have ended, :func:`claim` takes the folder over, removes what is no plain file or folder, and says
what was wrong, which is a failure of the part's.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.host.sandbox import removal

LOOK_S = 0.25
"""Between two looks: a fast disk takes some 500 MB in it."""
MOST_NAMES = 4096
"""Files and folders of a part: a program writes a few logs, a page load some 100 pictures."""
DEEPEST = 32
"""Folders in folders: each takes an open descriptor to look into."""
_FILE_BYTES = 4096
"""What the least of files takes of a disk."""
_KEPT_BYTES = 2**20
"""Of each file of a folder that holds too much."""
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
    """Look until a folder holds too much; return what :func:`excess` says of it."""
    while not (found := look()):  # noqa: ASYNC110 - programs tell nobody
        await asyncio.sleep(LOOK_S)
    return found


def excess(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Say of each folder that holds more than ``most`` bytes, or cannot be looked into, by name."""
    found = {name: _wrong(artifacts / name, bound) for name, bound in most.items()}
    return {name: f"{wrong}, and was ended" for name, wrong in found.items() if wrong}


def _wrong(folder: Path, most: int) -> str:
    """Look at a folder no longer than it takes to know."""
    total = 0
    try:
        for names, below in enumerate(_walk(folder), start=1):
            total += below.about.st_size + _FILE_BYTES
            if wrong := _beyond(total, most, names, below):
                return wrong
    except (FileNotFoundError, NotADirectoryError):
        return "put something else in its folder's place"
    except PermissionError:
        return "closed its folder"
    return ""


def _beyond(total: int, most: int, names: int, last: _Below) -> str:
    """Say what bound is passed, of the bytes and names so far, and of the last one."""
    if total >= most:
        return f"wrote more than {most / 1e6:.0f} MB into its folder"
    if names > MOST_NAMES:
        return f"made more than {MOST_NAMES} files and folders in its folder"
    if last.depth > DEEPEST:
        return f"made folders more than {DEEPEST} deep in its folder"
    return f"closed {last.called} in its folder" if last.is_closed else ""


def claim(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Take over the folders of parts that have ended, and put them in order.

    Every file and folder then belongs to this user and can be read and removed by it. What is no
    plain file or folder, has a name that is no text, or lies too deep is removed, and files
    beyond a bound are cut. Files of the bed's own beside the folders are taken over, too.

    Args:
        artifacts: The attempt's folder; nothing writes to it any more.
        most: Upper bound of each part's bytes, by its folder's name.

    Returns:
        What was wrong with each folder, by its name.
    """
    _own(artifacts)
    for entry in os.scandir(artifacts):
        if entry.is_file(follow_symlinks=False):
            _own(Path(entry.path))
    found = {name: _claimed(artifacts / name, bound) for name, bound in most.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def _claimed(folder: Path, most: int) -> str:
    try:
        was_closed = removal.take_over(folder)
    except (FileNotFoundError, NotADirectoryError):
        return "put something else in its folder's place"
    wrong = dict.fromkeys(["closed its folder"] if was_closed else [])
    total, beyond = 0, False
    for names, below in enumerate(_walk(folder, taking_over=True), start=1):
        total += below.about.st_size + _FILE_BYTES
        misplaced = _misplaced(below)
        if misplaced:
            removal.remove(below.name, below.folder)
        if reason := misplaced or _beyond(total, most, names, below):
            wrong.setdefault(reason)
        beyond |= total >= most or names > MOST_NAMES
    if beyond:
        cut(folder)
    return "; ".join([*wrong][:_MOST_REASONS])


def _misplaced(below: _Below) -> str:
    """Say why something is removed."""
    if kind := _KINDS.get(stat.S_IFMT(below.about.st_mode)):
        return f"left {kind}, {below.called}"
    if not below.name.isprintable():
        return f"left a name that is no text, {below.called}"
    if below.depth > DEEPEST:
        return f"made folders more than {DEEPEST} deep in its folder"
    return ""


def cut(folder: Path) -> None:
    """Keep the beginnings of some files only, once no process writes to them any more."""
    kept = 0
    try:
        for below in _walk(folder):
            if stat.S_ISDIR(below.about.st_mode):
                continue
            if kept < _KEPT_FILES and stat.S_ISREG(below.about.st_mode):
                _truncate(below)
                kept += 1
            else:
                os.unlink(below.name, dir_fd=below.folder)
    except (FileNotFoundError, NotADirectoryError):
        return


def _truncate(below: _Below) -> None:
    flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(below.name, flags, dir_fd=below.folder)
    try:
        os.ftruncate(handle, min(_KEPT_BYTES, below.about.st_size))
    finally:
        os.close(handle)


def _own(path: Path) -> None:
    """Give a file of the bed's to this user, as which root runs no sandbox."""
    if path.lstat().st_uid != os.geteuid():
        os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


@dataclass(frozen=True)
class _Below:
    """What lies in a folder, or in one below it."""

    folder: int
    """Descriptor of the folder that it is in."""
    name: str
    about: os.stat_result
    """Of itself, where it is a link; as the part left it."""
    depth: int

    @property
    def is_closed(self) -> bool:
        """Whether its owner may not read it, or look into it; root may, and it counts the same."""
        wanted = {stat.S_IFDIR: stat.S_IRWXU, stat.S_IFREG: stat.S_IRUSR}
        bits = wanted.get(stat.S_IFMT(self.about.st_mode), 0)
        return self.about.st_mode & bits != bits

    @property
    def called(self) -> str:
        """Its name as one may print it."""
        return ascii(
            self.name if len(self.name) <= _LONGEST_NAME else f"{self.name[:_LONGEST_NAME]}..."
        )


def _walk(folder: Path, *, taking_over: bool = False) -> Iterator[_Below]:
    """Yield what lies below a folder, whatever a running program does there meanwhile.

    No link is followed. It descends one level past the limit, to detect the excess.
    With ``taking_over``, everything is made this user's before it is looked into.

    Raises:
        FileNotFoundError: The folder is gone.
        NotADirectoryError: Something else is in its place.
    """
    handle = os.open(folder, _FOLDER)
    try:
        yield from _inside(handle, 1, taking_over=taking_over)
    finally:
        os.close(handle)


def _inside(folder: int, depth: int, *, taking_over: bool) -> Iterator[_Below]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                about = entry.stat(follow_symlinks=False)
                if taking_over:
                    removal.take_over(entry.name, folder)
                yield _Below(folder, entry.name, about, depth)
                if not stat.S_ISDIR(about.st_mode) or depth > DEEPEST:
                    continue
                handle = os.open(entry.name, _FOLDER, dir_fd=folder)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
            try:
                yield from _inside(handle, depth + 1, taking_over=taking_over)
            finally:
                os.close(handle)
