"""The file or folder of a container image: named blobs, read within bounds and never unpacked.

An archive is a tar file (``docker save``, ``podman save``, ``skopeo copy``), compressed or not, or
the folder of an OCI image layout. It is a stranger's: each read has a bound, and what is read was
compared with its digest before anything interprets it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import posixpath
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from httpbed.base import user_file
from httpbed.base.errors import ConfigError, Mistake

MAX_DOCUMENT_BYTES = 2**22
"""Of a manifest, an index or a configuration."""
MAX_BLOBS = 10_000
MAX_HEADER_BYTES = 2**20
"""Of the headers of one entry of a tar file; tarfile keeps them in memory."""
MAX_BYTES = 2**33
"""Of everything that is unpacked from one archive; images of QUIC programs have up to 3 GB."""
SPARED_BYTES, MAX_RATIO = 2**30, 50
"""Beyond so many bytes, an archive must not unpack to more than so many times its size."""
CHUNK_BYTES = 2**20
SAVE_AGAIN = "save the image again (docker save, podman save or skopeo copy)"
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"


class Readable(Protocol):
    """What tarfile and the decompressors need of a file."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes; nothing at the end."""
        ...


def refusal(place: str, reason: str, remedy: str = SAVE_AGAIN) -> ConfigError:
    """Return the error for a mistake in an archive."""
    return ConfigError([Mistake(place, reason, remedy)])


@dataclass
class Allowance:
    """The bytes that may still be unpacked from one archive."""

    place: str
    most: int
    used: int = 0

    @classmethod
    def of(cls, place: str, archive_bytes: int) -> Allowance:
        """Return the allowance of an archive of this size."""
        return cls(place, min(MAX_BYTES, SPARED_BYTES + MAX_RATIO * archive_bytes))

    def take(self, count: int) -> None:
        """Count unpacked bytes.

        Raises:
            ConfigError: They are more than the archive may have.
        """
        self.used += count
        if self.used > self.most:
            reason = f"unpacks to more than {self.most / 1e9:.1f} GB, the bound for its size"
            raise refusal(
                self.place, reason, "leave out of the image what the program does not use"
            )


class Unpacked:
    """A decompressed stream: what is read from it is counted, bounded and hashed."""

    def __init__(self, raw: BinaryIO, place: str, allowance: Allowance) -> None:
        self._place, self._allowance = place, allowance
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
        self._allowance.take(len(data))
        if self.budget is not None:
            self.budget -= len(data)
            if self.budget < 0:
                raise refusal(self._place, f"has a header of more than {MAX_HEADER_BYTES} bytes")
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
            raise refusal(self._place, f"is damaged: {error}") from None


def _decompressed(raw: BinaryIO) -> Readable:
    start = raw.read(len(_ZSTD))
    raw.seek(0)
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw)
    if start == _ZSTD:
        stream: Readable = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
        return stream
    return raw


class Archive(Protocol):
    """The blobs of an image, by name."""

    place: str
    """The path that the user gave."""
    size: int
    """Bytes of everything in it."""

    def __contains__(self, name: str) -> bool:
        """Whether it has a blob."""
        ...

    def opened(self, name: str) -> io.BufferedReader:
        """Open a blob."""
        ...


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open the archive of an image.

    Raises:
        ConfigError: It is no archive of an image.
    """
    place = str(path)
    if path.is_dir():
        yield _Folder(place)
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
        plain: BinaryIO = file
        if file.peek(len(_ZSTD)).startswith((_ZSTD, _GZIP)):
            plain = stack.enter_context(TemporaryFile())
            unpacked = Unpacked(file, place, Allowance.of(place, size))
            while data := unpacked.read(CHUNK_BYTES):
                plain.write(data)
            plain.seek(0)
        yield _TarFile(place, size, plain)


class _Folder:
    """An OCI image layout in a folder."""

    def __init__(self, place: str) -> None:
        self.place = place
        try:
            self.size = sum(one.stat().st_size for one in Path(place, "blobs/sha256").iterdir())
        except OSError:
            reason = "is no OCI image layout: its blobs/sha256 cannot be read"
            raise refusal(place, reason, "name the folder that has index.json and blobs") from None

    def __contains__(self, name: str) -> bool:
        return Path(self.place, name).is_file()

    def opened(self, name: str) -> io.BufferedReader:
        return Path(self.place, name).open("rb")


class _Budgeted:
    """A seekable file of whose headers tarfile reads a bounded number of bytes."""

    def __init__(self, place: str, file: BinaryIO) -> None:
        self._place, self._file = place, file
        self.budget: int | None = None
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1, /) -> bytes:
        left = self.budget or 0
        if not 0 <= size <= left:
            raise refusal(self._place, f"has a header of more than {MAX_HEADER_BYTES} bytes")
        self.budget = left - size
        return self._file.read(size)


class _Section(io.RawIOBase):
    """Part of a file."""

    def __init__(self, file: BinaryIO, offset: int, size: int) -> None:
        super().__init__()
        self._file, self._offset, self._size, self._at = file, offset, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        self._file.seek(self._offset + self._at)
        data = self._file.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _TarFile:
    """A tar file; of several entries of a name, the last counts."""

    def __init__(self, place: str, size: int, file: BinaryIO) -> None:
        self.place, self.size, self._file = place, size, file
        self._blobs = dict[str, tuple[int, int]]()
        links = dict[str, str]()
        for member in entries(place, _Budgeted(place, file), "r:"):
            name = posixpath.normpath(member.name)
            if member.isreg() and not member.issparse():
                self._blobs[name] = (member.offset_data, member.size)
            elif member.issym():  # docker save before version 25 links to an equal layer
                links[name] = posixpath.join(posixpath.dirname(name), member.linkname)
            elif member.islnk():
                links[name] = member.linkname
            if len(self._blobs) + len(links) > MAX_BLOBS:
                raise refusal(place, f"has more than {MAX_BLOBS} entries: it is no image")
        for name, target in links.items():
            if blob := self._blobs.get(posixpath.normpath(target)):
                self._blobs.setdefault(name, blob)

    def __contains__(self, name: str) -> bool:
        return posixpath.normpath(name) in self._blobs

    def opened(self, name: str) -> io.BufferedReader:
        section = _Section(self._file, *self._blobs[posixpath.normpath(name)])
        return io.BufferedReader(section, CHUNK_BYTES)


class _Header(tarfile.TarInfo):
    """A header of an entry. tarfile itself accepts a negative size, and then reads forever."""

    @classmethod
    def frombuf(cls, *words: Any) -> tarfile.TarInfo:  # type: ignore[override]
        header = super().frombuf(*words)
        if header.size < 0:
            raise tarfile.ReadError("an entry has a negative size")
        return header


def entries(place: str, file: Any, mode: str) -> Iterator[tarfile.TarInfo]:
    """Yield the entries of a tar file whose ``budget`` bounds what their headers take.

    Raises:
        ConfigError: It is no tar file, or it is damaged.
    """
    for _, member in opened_entries(place, file, mode):
        yield member


def opened_entries(
    place: str, file: Any, mode: Any
) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Yield the tar file with each of its entries, as :func:`entries`."""
    file.budget = MAX_HEADER_BYTES
    try:
        with tarfile.open(fileobj=file, mode=mode, tarinfo=_Header, encoding="utf-8") as tar:
            while member := tar.next():
                if member.size < 0:  # a header of PAX replaces that of the entry
                    raise tarfile.ReadError("an entry has a negative size")
                tar.members.clear()  # type: ignore[attr-defined]  # else all are kept
                file.budget = None
                yield tar, member
                file.budget = MAX_HEADER_BYTES
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, IndexError) as error:
        raise refusal(place, f"is no tar file, or a damaged one: {error}") from None


def document(archive: Archive, name: str, digest: str = "") -> bytes:
    """Return a small blob, and compare it with its digest.

    Raises:
        ConfigError: It is missing, too long or another one.
    """
    with require(archive, name) as blob:
        data = blob.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise refusal(f"{archive.place}: {name}", f"has more than {MAX_DOCUMENT_BYTES} bytes")
    if digest and digest != (real := f"sha256:{hashlib.sha256(data).hexdigest()}"):
        raise mismatch(archive, name, digest, real)
    return data


def require(archive: Archive, name: str) -> io.BufferedReader:
    """Open a blob.

    Raises:
        ConfigError: The archive lacks it.
    """
    if name not in archive:
        raise refusal(archive.place, f"lacks {name}", f"{SAVE_AGAIN}, with all of its layers")
    return archive.opened(name)


def mismatch(archive: Archive, name: str, stated: str, real: str) -> ConfigError:
    """Return the error for a blob whose digest differs from the stated one."""
    return refusal(
        f"{archive.place}: {name}", f"has the digest {real}, not {stated}: it was changed"
    )


def require_digest(archive: Archive, name: str, digest: str) -> None:
    """Compare a blob with its digest.

    Raises:
        ConfigError: It is missing, or another one.
    """
    with require(archive, name) as blob:
        real = f"sha256:{hashlib.file_digest(blob, 'sha256').hexdigest()}"
    if real != digest:
        raise mismatch(archive, name, digest, real)
