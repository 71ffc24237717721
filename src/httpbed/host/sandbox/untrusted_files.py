"""Files where programs under test could have been: read and written without trust.

A program may leave anything in its folder: a link that leads to the user's own files, a named pipe
on which whoever opens it waits for ever, a device that never ends, a folder in a file's place. So
folders are walked without following a link, what is no regular file is refused, and whoever reads
says how much at most.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TextIO

MOST_BYTES = 2**26
"""Of a file that is read whole."""
READABLE = 0o644
"""Programs under test may run as another user than this one."""
OWN_BYTES = 2**28
"""Of one that httpbed itself wrote: the emulator's result of a long lossy transfer."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UnreadableError(ValueError):
    """The file is not regular, or too long."""


@contextmanager
def opened(
    file: Path, most: int = MOST_BYTES, *, errors: str = "replace", top: Path | None = None
) -> Iterator[TextIO]:
    """Open a file to read it; from its folder, or from ``top``, no link leads to it.

    Raises:
        FileNotFoundError: It is not there.
        UnreadableError: It is no regular file, or longer than ``most`` bytes.
    """
    handle = _handle(file, top or file.parent)
    try:
        _refuse(file.name, os.fstat(handle), most)
        with os.fdopen(handle, encoding="utf-8", errors=errors, closefd=False) as found:
            yield found
    finally:
        os.close(handle)


def _handle(file: Path, top: Path) -> int:
    try:
        with _below(top, str(file.parent.relative_to(top))) as folder:
            return os.open(file.name, os.O_RDONLY | _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link, a socket, a device without a driver
        raise UnreadableError(f"{file.name} cannot be read: {error.strerror}") from None


def _refuse(name: str, about: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise UnreadableError(f"{name} is no regular file")
    if about.st_size > most:
        raise UnreadableError(f"{name} is longer than {most / 1e6:.0f} MB")


def text(file: Path, *, errors: str = "replace", most: int = MOST_BYTES) -> str:
    """Read a file whole, as :func:`opened` does.

    Raises:
        FileNotFoundError: It is not there.
        ValueError: It is not to be read, or no UTF-8 where ``errors`` is strict.
    """
    with opened(file, most, errors=errors) as handle:
        return handle.read()


def data(file: Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a file whole that is no text, as :func:`opened` does.

    Raises:
        FileNotFoundError: It is not there.
        UnreadableError: It is not to be read.
    """
    with opened(file, most) as handle:
        return handle.buffer.read()


def own_text(file: Path) -> str:
    """Read a file that httpbed itself wrote, as :func:`text` does; empty where there is none."""
    try:
        return text(file, most=OWN_BYTES)
    except FileNotFoundError:
        return ""


def last_line(folder: Path, name: str, most: int = 4096) -> str:
    """Return the last line of a file of a program; empty where there is none to be read."""
    try:
        with opened(folder / name, 2**62, top=folder) as file:
            length = os.fstat(file.fileno()).st_size
            os.lseek(file.fileno(), max(0, length - most), os.SEEK_SET)
            said = file.read(most).strip()
    except (OSError, UnreadableError):
        return ""
    return said.splitlines()[-1] if said else ""


def write(folder: Path, name: str, said: str) -> None:
    """Write a file below a folder that is trusted itself, with the folders above it.

    What was there in its place is removed, never written to.
    """
    path = PurePosixPath(name)
    with _below(folder, str(path.parent), make=True) as parent:
        if _is_there(path.name, parent):
            os.unlink(path.name, dir_fd=parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        with os.fdopen(os.open(path.name, flags, READABLE, dir_fd=parent), "w") as file:
            os.fchmod(file.fileno(), READABLE)  # whatever the file mode mask
            file.write(said)


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _below(top: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Walk from a folder, which is no link, to one below it."""
    handle = os.open(top, _FOLDER)
    try:
        for name in PurePosixPath(path).parts:
            if name == "..":
                raise NotADirectoryError(errno.ENOTDIR, "leads out of the folder", path)
            if make and not _is_there(name, handle):
                os.mkdir(name, dir_fd=handle)
            above, handle = handle, os.open(name, _FOLDER, dir_fd=handle)
            os.close(above)
        yield handle
    finally:
        os.close(handle)
