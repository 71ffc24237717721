"""The file or folder of a container image: named blobs, read within bounds.

An archive is a tar file (``docker save``, ``podman save``, ``skopeo copy``), compressed or not, or
the folder of an OCI image layout. It is a stranger's: each read has a bound, and what is read is
compared with its digest before anything uses it.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from httpbed.addons.images.tree import Tree
from httpbed.base import user_file
from httpbed.base.errors import ConfigError, Mistake
from httpbed.bed.machine import scratch
from httpbed.bed.toolbox import root_files

MAX_DOCUMENT_BYTES = 2**22
"""Upper bound of a manifest, an index or a configuration."""
MAX_BLOBS = 10_000
DOCUMENTS = ("index.json", "manifest.json")
"""Where an archive says what it contains: that of the OCI first, then that of docker save."""
OF_NAMES = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EINVAL})
OF_NAMES |= {errno.ENOENT, errno.EEXIST}
"""Errors of a name or a link, not of this machine."""
MAX_HEADER_BYTES = 2**20
"""Upper bound of the headers of one entry of a tar file; tarfile keeps them in memory."""
MAX_BYTES = 2**33
"""Upper bound of what is unpacked from one archive; images of QUIC programs have up to 3 GB."""
SPARED_BYTES, MAX_RATIO = 2**30, 50
"""Beyond so many bytes, an archive must not unpack to more than so many times its size."""
CHUNK_BYTES = 2**20
SAVE_AGAIN = "save the image again (docker save, podman save or skopeo copy)"
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"


def refusal(place: str, reason: str, remedy: str = SAVE_AGAIN) -> ConfigError:
    """Return the error for a mistake in an archive."""
    return ConfigError([Mistake(place, reason, remedy)])


@dataclass
class Allowance:
    """What may still be unpacked from one archive."""

    place: str
    most: int
    """Bytes."""
    most_entries: int
    used: int = 0
    entries: int = 0

    @classmethod
    def of(cls, place: str, archive_bytes: int, entries: int) -> Allowance:
        """Return the allowance of an archive of this size."""
        return cls(place, min(MAX_BYTES, SPARED_BYTES + MAX_RATIO * archive_bytes), entries)

    def take(self, count: int, entries: int = 0) -> None:
        """Count unpacked bytes and entries.

        Raises:
            ConfigError: They are more than the archive may have.
        """
        self.used += count
        self.entries += entries
        remedy = "leave out of the image what the program does not use"
        if self.used > self.most:
            reason = f"unpacks to more than {self.most / 1e9:.1f} GB, the bound for its size"
            raise refusal(self.place, reason, remedy)
        if self.entries > self.most_entries:
            reason = f"has more than {self.most_entries} entries, files and folders"
            raise refusal(self.place, reason, remedy)


class Unpacked:
    """A decompressed stream: what is read from it is counted, bounded and hashed."""

    def __init__(self, raw: BinaryIO, place: str, allowance: Allowance) -> None:
        self.place, self.allowance = place, allowance
        self._stream = self._guarded(_decompressed, raw)
        self._digest = hashlib.sha256()
        self.budget: int | None = None
        """Bytes that may be read until the next entry; None: all that are allowed."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes.

        Raises:
            ConfigError: The stream is damaged or too long.
        """
        size = CHUNK_BYTES if size < 0 else min(size, CHUNK_BYTES)
        data: bytes = self._guarded(self._stream.read, size)
        self.allowance.take(len(data))
        if self.budget is not None:
            self.budget -= len(data)
            if self.budget < 0:
                raise refusal(self.place, f"has a header of more than {MAX_HEADER_BYTES} bytes")
        self._digest.update(data)
        return data

    def digest(self) -> str:
        """Read what is left, and return the digest of everything."""
        self.budget = None
        while self.read(CHUNK_BYTES):
            pass
        return f"sha256:{self._digest.hexdigest()}"

    def _guarded(self, reads: Any, *words: Any) -> Any:
        try:
            return reads(*words)
        except (OSError, EOFError, zlib.error, ValueError) as error:  # ValueError: pyarrow's
            raise refusal(self.place, f"is damaged: {error}") from None


def _decompressed(raw: BinaryIO) -> Any:
    start = raw.read(len(_ZSTD))
    raw.seek(0)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start == _ZSTD:
        return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    return raw


@dataclass(frozen=True)
class Archive:
    """An archive, as a folder of files."""

    place: str
    """The path that the user gave."""
    size: int
    """Bytes of everything in it."""
    folder: Path

    def find(self, name: str) -> Path | None:
        """Return a file by its name in the archive, links followed within the archive."""
        path = root_files.resolved(self.folder, name)
        file = path and root_files.outside(self.folder, path)
        return file if file and file.is_file() else None

    def opened(self, name: str) -> BinaryIO:
        """Open a file.

        Raises:
            ConfigError: The archive lacks it.
        """
        try:
            if file := self.find(name):
                return file.open("rb")
        except OSError:
            pass
        raise refusal(self.place, f"lacks {name}", f"{SAVE_AGAIN}, with all of its layers")


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open the archive of an image; a tar file is unpacked into a folder that the end removes.

    Raises:
        ConfigError: It is no archive of an image.
    """
    place = str(path)
    if path.is_dir():
        yield Archive(place, sum(blob.stat().st_size for blob in path.glob("blobs/sha256/*")), path)
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(user_file.opened(path))
        except user_file.NotAFileError as error:
            raise refusal(place, str(error), "name the file that docker save wrote") from None
        except OSError as error:
            raise refusal(place, f"cannot be read: {error.strerror}", "name another file") from None
        if not file.seekable():
            raise refusal(place, "is a pipe", "save the image into a file")
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        folder = stack.enter_context(scratch.temporary("images"))
        unpack(Unpacked(file, place, Allowance.of(place, size, MAX_BLOBS)), Tree(folder))
        yield Archive(place, size, folder)


def unpack(stream: Unpacked, tree: Tree) -> None:
    """Unpack a tar file into a tree.

    Raises:
        ConfigError: It is no tar file, or damaged, too large, or one of its entries is refused.
    """
    for member, content in _entries(stream):
        stream.allowance.take(0, entries=1)
        try:
            tree.add(member, content)
        except (OSError, ValueError) as error:  # ValueError: rejected, or a null character
            cause = error.errno if isinstance(error, OSError) else None
            if cause and cause not in OF_NAMES:
                raise
            reason = f"cannot be written: {os.strerror(cause)}" if cause else str(error)
            place = f"{stream.place}: {member.name}"
            raise refusal(place, reason, "build the image again without it") from None


class _Header(tarfile.TarInfo):
    """A header of an entry. tarfile itself accepts a negative size, and then reads forever."""

    @classmethod
    def frombuf(cls, *words: Any) -> tarfile.TarInfo:  # type: ignore[override]
        header = super().frombuf(*words)
        if header.size < 0:
            raise tarfile.ReadError("an entry has a negative size")
        return header


def _entries(stream: Unpacked) -> Iterator[tuple[tarfile.TarInfo, Iterator[bytes]]]:
    """Yield each entry of a tar file with its content; what the headers take is bounded."""
    stream.budget = MAX_HEADER_BYTES
    file: Any = stream  # tarfile only reads from it
    try:
        with tarfile.open(fileobj=file, mode="r|", tarinfo=_Header, encoding="utf-8") as tar:
            while member := tar.next():
                if member.size < 0:  # a header of PAX replaces that of the entry
                    raise tarfile.ReadError("an entry has a negative size")
                tar.members.clear()  # type: ignore[attr-defined]  # else all are kept
                stream.budget = None
                yield member, _chunks(f"{stream.place}: {member.name}", tar, member)
                stream.budget = MAX_HEADER_BYTES
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, IndexError) as error:
        raise refusal(stream.place, f"is no tar file, or a damaged one: {error}") from None


def _chunks(place: str, tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    left, file = member.size, tar.extractfile(member)
    try:
        while left and file and (chunk := file.read(min(left, CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk
    except tarfile.TarError as error:
        raise refusal(place, f"is damaged: {error}") from None
    if left:
        raise refusal(place, "ends before its end")


def document(archive: Archive, name: str, digest: str = "") -> bytes:
    """Return a small blob, and compare it with its digest.

    Raises:
        ConfigError: It is missing, too long or another one.
    """
    with archive.opened(name) as blob:
        data = blob.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise refusal(f"{archive.place}: {name}", f"has more than {MAX_DOCUMENT_BYTES} bytes")
    if digest:
        require_digest(archive, name, digest, f"sha256:{hashlib.sha256(data).hexdigest()}")
    return data


def require_digest(archive: Archive, name: str, stated: str, real: str) -> None:
    """Compare the digest of a blob, packed or unpacked, with the stated one.

    Raises:
        ConfigError: It is another one.
    """
    if real != stated:
        reason = f"has the digest {real}, not {stated}: it was changed"
        raise refusal(f"{archive.place}: {name}", reason)
