"""Folders that may or may not hold a campaign."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.store import digests, durable_files, layout
from httpbed.store.layout import FILES, LINKS


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
        durable_files.settle([directory.resolve().parent])


def refuse_foreign(directory: Path) -> None:
    """Refuse a folder of other files, and a place below a file."""
    nearest = _nearest(directory)
    if not nearest.is_dir():
        raise ConfigError([Mistake(str(nearest), "is not a folder", "choose another with -o")])
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    begun = "lock" in names and names <= {"lock", ".manifest", LINKS, *FILES}  # and then broken off
    if names and not names >= set(FILES) and not begun:
        reason = "holds other files than a campaign's"
        raise ConfigError([Mistake(str(directory), reason, "choose another folder with -o")])
    require_own(directory)


def require_writable(directory: Path) -> None:
    """Create and remove a file without a name where a run would make its first one.

    Raises:
        OSError: Nothing can be created there.
    """
    nearest = _nearest(directory)
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        error.filename = str(nearest)
        raise


def _nearest(directory: Path) -> Path:
    """Return the folder, or the nearest above it that exists."""
    return next(one for one in (directory, *directory.parents) if os.path.lexists(one))
