"""The output files of a link: checked before the link exists, emptied when it starts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from httpbed.base import user_file
from httpbed.base.errors import Mistake
from httpbed.base.user_file import Kind

KINDS = {
    "--pcap": Kind(
        "a capture that httpbed wrote", re.compile(rb"\n\r\r\n.{4,200}httpbed-link ", re.DOTALL)
    ),
    "--log": Kind("a packet log that httpbed wrote", re.compile(rb"in_ns\tout_ns\t")),
}
"""What each option writes. A pcapng file begins with 0x0A0D0D0A and names the application."""

Identity = tuple[int, int]
"""Device and inode: the same file may have several names."""


def mistakes(
    outputs: Mapping[str, str | None], inputs: Iterable[tuple[str, str]]
) -> Iterator[Mistake]:
    """Yield a mistake for each output that cannot be written, or that would destroy something.

    An output is neither an input nor another output, and replaces only files of its own kind.
    Nothing is created or changed.
    """
    by_identity = {identity: flag for flag, file in inputs if (identity := _of_input(file))}
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
            if identity in by_identity:
                yield Mistake(
                    flag, f"{file} is also that of {by_identity[identity]}", "name another file"
                )
                continue
            if unlike := user_file.unlike(Path(file), KINDS[flag]):
                yield Mistake(flag, f"{file} {unlike}", "name another file, or delete this one")
            if identity:
                by_identity[identity] = flag
    finally:
        for path in made:
            path.unlink()


def empty(files: Iterable[Path | None]) -> None:
    """Create or empty the files: the sandbox mounts files that exist."""
    for file in files:
        if file:
            file.open("wb").close()


def _of_input(file: str) -> Identity | None:
    try:
        return _identity(Path(file).stat())
    except (OSError, ValueError):  # reported where it is read
        return None


def _probed(path: Path, made: list[Path]) -> Identity | None:
    """Open the file as its writer will, without emptying it; None for no file."""
    is_new = not path.exists()
    # Without O_NONBLOCK opening a pipe waits for a reader.
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
    """Return the identity of a regular file; None for others, such as /dev/null."""
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
