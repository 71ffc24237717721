"""Takes what a trial's parts left in their folders.

A part writes into a file system in memory whose bytes and names the kernel bounds, so that no check
has to be quicker than a program. When all its processes have ended, :func:`collect` copies plain
files and folders to the attempt's folder on this machine's disk. A part may leave what stops a
reader: a folder that is closed to its owner, a named pipe, a link, deeply nested folders. Those are
not copied, and what was wrong is a failure of the part.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from httpbed.bed.machine import unprivileged

MAX_NAMES = 4096
"""Most files and folders of a part, which the sandbox bounds (``filesystem.rs``)."""
DEEPEST = 32
"""Deepest nesting of folders: each level takes an open descriptor."""
_FILE_BYTES = 4096
"""What the smallest file takes on a disk."""
_KEPT_BYTES = 2**20
"""Bytes kept of each file of a folder that was filled."""
_KEPT_FILES = 64
_MAX_REASONS = 4
_LONGEST_NAME = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Disorder:
    """What was wrong with a part's folder; false if nothing."""

    filled: tuple[str, ...]
    """Which bounds were reached."""
    wrong: tuple[str, ...]
    """What else was wrong."""

    def __bool__(self) -> bool:
        return bool(self.filled or self.wrong)

    def __str__(self) -> str:
        return "; ".join([*self.filled, *self.wrong][:_MAX_REASONS])


def opened(name: str, folder: int) -> int:
    """Open a part's folder in ``folder``, before any program of the part runs."""
    return os.open(name, _FOLDER, dir_fd=folder)


def collect_all(
    folders: Mapping[str, int], trial: Path, most: Mapping[str, int]
) -> dict[str, Disorder]:
    """Copy all parts' folders to the attempt's, close them, and return what was wrong with each.

    Args:
        folders: Descriptors of the parts' folders, by name.
        trial: The attempt's folder, in which nothing but the bed has written.
        most: Upper bound of each folder's bytes.

    Raises:
        OSError: The disk is full.
    """
    if unprivileged.user():  # what the bed wrote belongs to the user of the sandbox
        for path in (trial, *trial.iterdir()):
            os.lchown(path, os.geteuid(), os.getegid())
    try:
        disorders = {
            name: collect(handle, trial / name, most[name]) for name, handle in folders.items()
        }
    finally:
        for handle in folders.values():
            os.close(handle)
    return {name: disorder for name, disorder in disorders.items() if disorder}


def collect(source: int, target: Path, most: int) -> Disorder:
    """Copy what a part left in its folder, once its processes have ended.

    Of a folder that was filled, only the beginnings of some files are copied.

    Args:
        source: Descriptor of the part's folder.
        target: Where it is copied to; an empty folder, or made.
        most: Upper bound of the folder's bytes.

    Returns:
        What was wrong with the folder.

    Raises:
        OSError: The disk is full.
    """
    filled = _filled(source, most)
    reasons = dict.fromkeys(["closed its folder"] if _was_closed(source) else [])
    total = 0
    for names, entry in enumerate(_walk(source, 1), start=1):
        total += entry.about.st_size + _FILE_BYTES
        if reason := entry.wrong:
            reasons.setdefault(reason)
        if total >= most:  # a link to a file and the hole in a file take no memory, but disk
            filled.setdefault(f"filled its folder of {most / 1e6:.0f} MB")
        if names >= MAX_NAMES:
            break
    target.mkdir(exist_ok=True)
    handle = os.open(target, _FOLDER)
    try:
        _copy(source, handle, 1, _Allowance(cuts=bool(filled)))
    finally:
        os.close(handle)
    return Disorder((*filled,), (*reasons,))


def _filled(folder: int, most: int) -> dict[str, None]:
    """Return why the kernel must have refused to write more.

    It counts now, not while the part ran: what a part has removed did no harm, and is not kept.
    """
    room = os.fstatvfs(folder)
    words = {
        f"filled its folder of {most / 1e6:.0f} MB": room.f_bfree,
        f"filled its folder of {MAX_NAMES} files and folders": room.f_ffree,
    }
    return {reason: None for reason, free in words.items() if free == 0}


def _was_closed(handle: int, *, is_folder: bool = True) -> bool:
    """Give the owner of a file or folder its access back; return whether it lacked it."""
    wanted = stat.S_IRWXU if is_folder else stat.S_IRUSR
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    if mode & wanted == wanted:
        return False
    os.chmod(f"/proc/self/fd/{handle}", mode | wanted)  # noqa: PTH101 - of a descriptor
    return True


@dataclass(frozen=True)
class _Entry:
    name: str
    about: os.stat_result
    """Its status as the part left it; of a link, the link's own."""
    depth: int
    was_closed: bool

    @property
    def wrong(self) -> str:
        """What is wrong with it; empty if nothing."""
        return self.misplaced or (f"closed {self.called} in its folder" if self.was_closed else "")

    @property
    def misplaced(self) -> str:
        """Why it is not copied; empty if it is."""
        if kind := _KINDS.get(stat.S_IFMT(self.about.st_mode)):
            return f"left {kind}, {self.called}"
        if not self.name.isprintable():
            return f"left a name that is no text, {self.called}"
        if self.depth > DEEPEST:
            return f"made folders more than {DEEPEST} deep in its folder"
        return ""

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.about.st_mode)

    @property
    def called(self) -> str:
        """Its name in printable characters."""
        return ascii(
            self.name if len(self.name) <= _LONGEST_NAME else f"{self.name[:_LONGEST_NAME]}..."
        )


def _entries(folder: int, depth: int) -> Iterator[_Entry]:
    """Yield the entries of a folder, each accessible from now on."""
    with os.scandir(folder) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            was_closed = False
            if (is_folder := stat.S_ISDIR(about.st_mode)) or stat.S_ISREG(about.st_mode):
                place = os.open(entry.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    was_closed = _was_closed(place, is_folder=is_folder)
                finally:
                    os.close(place)
            yield _Entry(entry.name, about, depth, was_closed)


def _walk(folder: int, depth: int) -> Iterator[_Entry]:
    """Yield the entries below a folder, one level past the limit. It follows no link."""
    for entry in _entries(folder, depth):
        yield entry
        if entry.is_folder and depth <= DEEPEST:
            inner = opened(entry.name, folder)
            try:
                yield from _walk(inner, depth + 1)
            finally:
                os.close(inner)


@dataclass
class _Allowance:
    """How much may be copied."""

    cuts: bool
    """Whether only the beginnings of some files are copied."""
    files: int = 0

    def of(self, length: int) -> int | None:
        """Return the bytes to copy of a file of this length; None: no file any more."""
        self.files += 1
        if not self.cuts:
            return length
        return min(length, _KEPT_BYTES) if self.files <= _KEPT_FILES else None


def _copy(source: int, target: int, depth: int, allowance: _Allowance) -> None:
    for entry in _entries(source, depth):
        if entry.misplaced:
            continue
        if not entry.is_folder:
            _copy_file(entry, source, target, allowance)
            continue
        os.mkdir(entry.name, dir_fd=target)
        inner = opened(entry.name, source), opened(entry.name, target)
        try:
            _copy(*inner, depth + 1, allowance)
        finally:
            for handle in inner:
                os.close(handle)


def _copy_file(entry: _Entry, source: int, target: int, allowance: _Allowance) -> None:
    """Copy a file, or its beginning; its holes stay holes."""
    if (length := allowance.of(entry.about.st_size)) is None:
        return
    read = os.open(entry.name, _READ, dir_fd=source)
    try:
        written = os.open(entry.name, _WRITE, 0o644, dir_fd=target)
        try:
            for begin, end in _data(read, length):
                os.lseek(written, begin, os.SEEK_SET)
                at = begin
                while at < end and (count := os.sendfile(written, read, at, end - at)):
                    at += count
            os.ftruncate(written, length)
        finally:
            os.close(written)
    finally:
        os.close(read)


def _data(file: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are no holes."""
    end = 0
    while end < length:
        try:
            begin = os.lseek(file, end, os.SEEK_DATA)
        except OSError:  # only a hole is left
            return
        end = min(os.lseek(file, begin, os.SEEK_HOLE), length)
        if begin < end:
            yield begin, end
