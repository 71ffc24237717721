"""What programs under test leave in their folders on disk: bounded, all files together.

The kernel bounds each file; a program gone wild may write any number of them. So somebody looks,
ends the trial when a folder holds too much, and keeps no more of it than tells what it was.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

LOOK_S = 0.25
"""Between two looks: a fast disk takes some 500 MB in it."""
_FILE_BYTES = 4096
"""What the least of files takes of a disk."""
_KEPT_BYTES = 2**20
"""Of each file of a folder that holds too much."""
_KEPT_FILES = 64


async def until_excess(look: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Look until a folder holds too much; return what :func:`excess` says of it."""
    while not (found := look()):  # noqa: ASYNC110 - programs tell nobody
        await asyncio.sleep(LOOK_S)
    return found


def excess(artifacts: Path, most: Mapping[str, int]) -> dict[str, str]:
    """Say of each folder that holds more than ``most`` bytes, by its name."""
    return {
        name: f"wrote more than {bound / 1e6:.0f} MB into its folder, and was ended"
        for name, bound in most.items()
        if _holds(artifacts / name, bound)
    }


def _holds(folder: Path, bytes_: int) -> bool:
    """Whether a folder holds so much; no longer looked at than it takes to know."""
    total = 0
    for file in _files(folder):
        try:
            total += file.stat(follow_symlinks=False).st_size + _FILE_BYTES
        except FileNotFoundError:
            continue
        if total >= bytes_:
            return True
    return False


def cut(folder: Path) -> None:
    """Keep the beginnings of some files only, once nobody writes to them any more."""
    for index, file in enumerate(sorted(_files(folder), key=lambda file: file.path)):
        if index >= _KEPT_FILES:
            Path(file).unlink()
        elif file.is_file(follow_symlinks=False):
            os.truncate(file, min(_KEPT_BYTES, file.stat().st_size))


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Yield the files below a folder, whatever a running program does there meanwhile."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(entry.path)
                else:
                    yield entry
    except (FileNotFoundError, PermissionError):
        return
