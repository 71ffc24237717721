"""Reading and writing files in folders that programs under test can write to.

A program may leave anything in its folder: a link to the user's own files, a named pipe that blocks
its reader for ever, an endless device, a folder in place of a file. So no link is followed, only
regular files are read, and each read has a size limit.

Two bytes of JSON may become a hundred of memory: 63 MB of ``{}`` took 5 GB. So values are counted
in the text before it is parsed. Numbers are finite, as RFC 8259 demands. Of a key that comes twice,
the last counts.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

MAX_BYTES = 2**26
"""Default size limit of a file."""
MAX_LINES = 2**18
"""Number of lines of a program's file; a log of so many requests has more than 64 MiB."""
READABLE = 0o644
"""Mode of written files: programs under test may run as another user."""
MAX_CONTAINERS, MAX_LARGE_VALUES = 2 * 10**6, 2 * 10**7
"""Most objects and lists, and most values, of a file of JSON: 256 and 36 bytes of memory each."""
OWN_BYTES = 2**28
"""Size limit of files that httpbed wrote, such as the emulator's result of a long lossy
transfer."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UnreadableError(ValueError):
    """The file is not a regular file, or longer than the limit."""

    def __init__(self, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{name} {reason}")


@contextmanager
def opened(
    file: Path, most: int = MAX_BYTES, *, errors: str = "replace", top: Path | None = None
) -> Iterator[TextIO]:
    """Open a file for reading, without following links below its folder, or below ``top``.

    Raises:
        FileNotFoundError: It does not exist.
        UnreadableError: It is not a regular file, or longer than ``most`` bytes.
    """
    handle = _handle(file, top or file.parent)
    try:
        _refuse(file.name, os.fstat(handle), most)
        with os.fdopen(handle, encoding="utf-8", errors=errors, closefd=False) as stream:
            yield stream
    finally:
        os.close(handle)


def _handle(file: Path, top: Path) -> int:
    try:
        with _below(top, str(file.parent.relative_to(top))) as folder:
            return os.open(file.name, os.O_RDONLY | _FILE, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link, a socket or a device without a driver
        raise UnreadableError(file.name, f"cannot be read: {error.strerror}") from None


def _refuse(name: str, about: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise UnreadableError(name, "is not a regular file")
    if about.st_size > most:
        raise UnreadableError(name, f"is longer than {most / 1e6:.0f} MB")


def text(file: Path, *, errors: str = "replace", most: int = MAX_BYTES) -> str:
    """Return the text of a file, opened as by :func:`opened`.

    Raises:
        FileNotFoundError: It does not exist.
        ValueError: It cannot be read, or is not UTF-8 and ``errors`` is strict.
    """
    with opened(file, most, errors=errors) as handle:
        return handle.read()


def lines(file: Path, *, errors: str = "replace") -> Iterator[str]:
    """Yield the lines of a file, opened as by :func:`opened`, without their ends.

    Raises:
        FileNotFoundError: It does not exist.
        ValueError: It cannot be read, has too many lines, or is not UTF-8 and ``errors`` is strict.
    """
    with opened(file, errors=errors) as handle:
        for number, line in enumerate(handle):
            if number == MAX_LINES:
                raise UnreadableError(file.name, f"has more than {MAX_LINES} lines")
            yield line.removesuffix("\n")


def data(file: Path, *, most: int = MAX_BYTES) -> bytes:
    """Return the bytes of a file, opened as by :func:`opened`.

    Raises:
        FileNotFoundError: It does not exist.
        UnreadableError: It cannot be read.
    """
    with opened(file, most) as handle:
        return handle.buffer.read()


def own_data(file: Path) -> bytes:
    """Return the bytes of a file that httpbed wrote; raises as :func:`data`."""
    return data(file, most=OWN_BYTES)


def own_text(file: Path) -> str:
    """Return the text of a file that httpbed wrote; empty if it does not exist."""
    try:
        return text(file, most=OWN_BYTES)
    except FileNotFoundError:
        return ""


def large_json(content: str, name: str) -> Any:
    """Return the JSON value in a file's text, which is parsed only if it takes no more than 1 GB.

    Raises:
        ValueError: It is larger, or no JSON.
    """
    if content.count("[") + content.count("{") > MAX_CONTAINERS:
        raise UnreadableError(name, f"has more than {MAX_CONTAINERS:,} objects and lists")
    if content.count(",") > MAX_LARGE_VALUES:
        raise UnreadableError(name, f"has more than {MAX_LARGE_VALUES:,} values")
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise UnreadableError(name, "is nested too deeply") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def last_line(folder: Path, name: str, most: int = 4096) -> str:
    """Return the last line of a program's file; empty if there is none or it is unreadable."""
    return "".join(last_lines(folder, name, 1, most))


def last_lines(folder: Path, name: str, count: int, most: int = 4096) -> list[str]:
    """Return the last lines of a program's file; none if it is empty or unreadable."""
    try:
        with opened(folder / name, 2**62, top=folder) as file:
            length = os.fstat(file.fileno()).st_size
            os.lseek(file.fileno(), max(0, length - most), os.SEEK_SET)
            tail = file.read(most).strip()
    except (OSError, UnreadableError):
        return []
    return tail.splitlines()[-count:]


def write(folder: Path, name: str, content: str) -> None:
    """Write a file below a trusted folder, and make the folders between them.

    An existing file is removed first, never written to.
    """
    path = PurePosixPath(name)
    with _below(folder, str(path.parent), make=True) as parent:
        if _is_there(path.name, parent):
            os.unlink(path.name, dir_fd=parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        with os.fdopen(os.open(path.name, flags, READABLE, dir_fd=parent), "w") as file:
            os.fchmod(file.fileno(), READABLE)  # independent of the umask
            file.write(content)


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _below(top: Path, path: str, *, make: bool = False) -> Iterator[int]:
    """Open a folder below ``top`` without following links."""
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


MAX_JSON_VALUES = 2**22
"""In a document, or in all lines of a file; as objects, they take some 300 MB."""
_MARKS = ("{", "[", ",", ":")
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{\[,:]', re.DOTALL)
"""A mark, or a text, in which marks do not count."""


class BoundedParser:
    """Parses texts, with one bound for all of them together."""

    def __init__(self, most: int = MAX_JSON_VALUES) -> None:
        self._left = most

    def value(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            ValueError: It is no JSON, has too many values or digits, or is nested too deeply.
        """
        self._left -= _marks(text, self._left) + 1
        if self._left < 0:
            raise UnreadableError("the JSON", "has too many values")
        try:
            return json.loads(text, parse_constant=_refuse_constant)
        except RecursionError:
            raise UnreadableError("the JSON", "is nested too deeply") from None


def json_value(text: str, most: int = MAX_JSON_VALUES) -> Any:
    """Return the value of a text; raises as :meth:`BoundedParser.value`."""
    return BoundedParser(most).value(text)


def json_lines(file: Path, *, errors: str = "replace") -> Iterator[Any]:
    """Yield the value of each line of a file.

    Raises:
        FileNotFoundError: It does not exist.
        ValueError: A line is no JSON, or the file exceeds a bound.
    """
    return map(BoundedParser().value, lines(file, errors=errors))


def _marks(text: str, most: int) -> int:
    """Count what separates values; stop soon after ``most``."""
    if (marks := sum(map(text.count, _MARKS))) <= most:
        return marks
    marks = 0
    for found in _MARK.finditer(text):
        marks += text[found.start()] != '"'
        if marks > most:
            break
    return marks
