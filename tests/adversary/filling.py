"""Attacks on the room for a program's files: the ways to take more than a length tells."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

from attacks import LIBC

MB = 10**6
KEEP_SIZE = 1
"""Flag of fallocate(2): the length stays."""
PIECES = {MB: 2000, 4096: 2000}
"""How many pieces of each size an attack takes: far more than fits, down to the last page."""
HOLE = 30 * MB
UNNAMED = os.O_RDWR | getattr(os, "O_TMPFILE", 0)


def allocate(file: int, offset: int, length: int, mode: int) -> None:
    """Take room for a part of a file."""
    if LIBC.fallocate(file, mode, ctypes.c_long(offset), ctypes.c_long(length)):
        raise OSError(ctypes.get_errno(), "fallocate")


def until_refused(open_one: Callable[[str], int], mode: int = 0) -> None:
    """Take one piece of room after the other for a few files, until the kernel refuses."""
    for size, most in PIECES.items():
        file = open_one(f"room-{size}")
        with contextlib.suppress(OSError):
            for number in range(most):
                allocate(file, number * size, size, mode)


def named(name: str) -> int:
    """Make a file."""
    return os.open(name, os.O_CREAT | os.O_RDWR, 0o644)


def keep_size() -> None:
    """Take room for files whose length stays 0."""
    until_refused(named, KEEP_SIZE)


def fallocate() -> None:
    """Take room at once, faster than any check."""
    until_refused(named)


def unnamed() -> None:
    """Take room for open files without a name, and keep them for a while."""
    until_refused(lambda _name: os.open(".", UNNAMED, 0o600))
    time.sleep(0.6)


def unlinked() -> None:
    """Take room for open files whose names are removed, and keep them for a while."""

    def gone(name: str) -> int:
        file = named(name)
        os.unlink(name)
        return file

    until_refused(gone)
    time.sleep(0.6)


def holes() -> None:
    """Make files without content that a copy would fill a disk with."""
    for number in range(1000):
        with open(f"hole-{number}", "wb") as file:
            file.truncate(HOLE)


def links() -> None:
    """Give a long file a thousand names."""
    Path("name").write_bytes(bytes(10 * MB))
    with contextlib.suppress(OSError):
        for number in range(1000):
            os.link("name", f"name-{number}")


def small() -> None:
    """Make as many short files and links to them as possible."""
    with contextlib.suppress(OSError):
        for number in range(20_000):
            Path(f"{number}").write_text("x")


FILLING: dict[str, Callable[[], None]] = {
    one.__name__: one for one in (keep_size, fallocate, unnamed, unlinked, holes, links, small)
}
