"""The modes of files that httpbed makes for programs under test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_mask() -> Iterator[None]:
    """Set a mask with which other users cannot read new files."""
    former = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(former)


def is_readable_by_all(folder: Path) -> bool:
    """Return whether other users can read a folder with all below it."""
    every = [folder, *folder.rglob("*")]
    needed = {path: 0o055 if path.is_dir() else 0o044 for path in every}
    return all(path.stat().st_mode & mode == mode for path, mode in needed.items())
