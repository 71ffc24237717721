"""What programs under test leave in their folders on disk: bounded, all files together.

The kernel bounds each file; a program gone wild may write any number of them. So somebody looks,
ends the trial when a folder holds too much, and keeps no more of it than tells what it was.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.25
"""Between two looks: a fast disk takes some 500 MB in it."""
_FILE_BYTES = 4096
"""What the least of files takes of a disk."""
_KEPT_BYTES = 2**20
"""Of each file of a folder that holds too much."""
_KEPT_FILES = 64
_DEEPEST = 32
"""Folders in folders: each takes an open descriptor to look into."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


async def until_excess(look: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Look until a folder holds too much; return what :func:`excess` says of it."""
    while not (found := look()):  # noqa: ASYNC110 - programs tell nobody
        await asyncio.sleep(LOOK_S)
    return found


def excess(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Say of each folder that holds more than ``most`` bytes, or is gone, by its name."""
    found = {name: _wrong(artifacts / name, bound) for name, bound in most.items()}
    return {name: f"{wrong}, and was ended" for name, wrong in found.items() if wrong}


def _wrong(folder: Path, most: int) -> str:
    """Look at a folder no longer than it takes to know."""
    total = 0
    try:
        for below in _walk(folder):
            total += below.about.st_size + _FILE_BYTES
            if total >= most:
                return f"wrote more than {most / 1e6:.0f} MB into its folder"
            if below.depth > _DEEPEST:
                return f"made folders more than {_DEEPEST} deep in its folder"
    except (FileNotFoundError, NotADirectoryError):
        return "put something else in its folder's place"
    return ""


def cut(folder: Path) -> None:
    """Keep the beginnings of some files only, once nobody writes to them any more."""
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


@dataclass(frozen=True)
class _Below:
    """What lies in a folder, or in one below it."""

    folder: int
    """Descriptor of the folder that it is in."""
    name: str
    about: os.stat_result
    """Of itself, where it is a link."""
    depth: int


def _walk(folder: Path) -> Iterator[_Below]:
    """Yield what lies below a folder, whatever a running program does there meanwhile.

    No link is followed, and none of the folders further down than tells that they are too deep.

    Raises:
        FileNotFoundError: The folder is gone.
        NotADirectoryError: Something else is in its place.
    """
    handle = os.open(folder, _FOLDER)
    try:
        yield from _inside(handle, 1)
    finally:
        os.close(handle)


def _inside(folder: int, depth: int) -> Iterator[_Below]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                below = _Below(folder, entry.name, entry.stat(follow_symlinks=False), depth)
                yield below
                if not stat.S_ISDIR(below.about.st_mode) or depth > _DEEPEST:
                    continue
                handle = os.open(entry.name, _FOLDER, dir_fd=folder)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                continue
            try:
                yield from _inside(handle, depth + 1)
            finally:
                os.close(handle)
