"""The files that a link writes: looked at while anything may still be wrong, emptied only then."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from httpbed.experiment.errors import Mistake

Identity = tuple[int, int]
"""Device and inode: by whatever name a file is known, it is one."""


def mistakes(
    outputs: Mapping[str, str | None], inputs: Iterable[tuple[str, str]]
) -> Iterator[Mistake]:
    """Find outputs, by option, that cannot be written, or that are an input or another output.

    Nothing is changed by the looking: what was there keeps its content, what was not is not.
    """
    seen = {identity: flag for flag, file in inputs if (identity := _of_input(file))}
    made = list[Path]()
    try:
        for flag, file in outputs.items():
            if not file:
                continue
            try:
                identity = _probed(Path(file), made)
            except OSError as error:
                reason = f"{file}: {error.strerror}"
                yield Mistake(flag, reason, "name a file that can be written")
                continue
            if identity in seen:
                yield Mistake(flag, f"{file} is also that of {seen[identity]}", "name another file")
            elif identity:
                seen[identity] = flag
    finally:
        for path in made:
            path.unlink()


def empty(files: Iterable[Path | None]) -> None:
    """Make the files, or empty those that are there: the sandbox is shown files that exist."""
    for file in files:
        if file:
            file.open("wb").close()


def _of_input(file: str) -> Identity | None:
    try:
        return _identity(Path(file).stat())
    except (OSError, ValueError):  # told where it is read
        return None


def _probed(path: Path, made: list[Path]) -> Identity | None:
    """Open the file as its writer will, but for the emptying; None if it keeps nothing."""
    is_new = not path.exists()
    # Without O_NONBLOCK a pipe that nobody reads would be waited for.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(path, flags, 0o666)
    try:
        about = os.fstat(opened)
    finally:
        os.close(opened)
    if is_new:
        made.append(path.resolve())
    return _identity(about)


def _identity(about: os.stat_result) -> Identity | None:
    """Name a regular file; what is none, such as /dev/null, may well be named twice."""
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
