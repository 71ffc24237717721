"""SHA-256 of what a campaign holds: of files, of a folder's files, and of a document over itself.

They show damage and edits. They are no signature: a person who changes a value and computes all
digests again is not found out.

A file is named by its path below a folder, percent-encoded (RFC 3986, section 2.1), because a
program under test may give its files names of any bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote, unquote_to_bytes

from httpbed.base import disk, untrusted_files
from httpbed.base.value import Value

DEEPEST = 40
"""Folders in folders; a trial that leaves more is ended."""
_ANY_LENGTH = 2**62
_CHUNK_BYTES = 2**20
_PLAIN = "/ !$&'()+,;=@[]"
"""Characters of file names that are not encoded; nor are letters and digits."""
_NO_DIGEST = "0" * 64
_SEAL = re.compile(r'\n "sha256": "([0-9a-f]{64})"\n\}\n\Z')


class DifferentError(ValueError):
    """A file differs from what was written; the message continues the file's name."""


class FileDigest(Value):
    """Length and SHA-256 of a file."""

    bytes: int
    sha256: str

    def difference(self, found: FileDigest | None) -> str:
        """Return how a file differs from this digest; empty if it does not."""
        if found is None:
            return "is missing"
        if found.bytes != self.bytes:
            return f"has {found.bytes} bytes, not {self.bytes}"
        return "" if found == self else "has another SHA-256 than when it was written"


def of_bytes(content: bytes) -> FileDigest:
    """Return the digest of a file with this content."""
    return FileDigest(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def differences(top: Path, expected: Mapping[str, FileDigest]) -> dict[str, str]:
    """Say how files below a folder differ from their digests, by their names; none that do not.

    No link leads to a file, and one of another length is not read: it may have no end.
    """

    def difference(name: str) -> str:
        digest = expected[name]
        try:
            with untrusted_files.opened(top / path(name), _ANY_LENGTH, top=top) as file:
                if (length := os.fstat(file.fileno()).st_size) != digest.bytes:
                    return digest.difference(FileDigest(bytes=length, sha256=""))
                return digest.difference(_of(file))
        except FileNotFoundError:
            return digest.difference(None)
        except untrusted_files.UnreadableError as error:
            return error.reason

    return {name: how for name in expected if (how := difference(name))}


def of_folder(top: Path, below: str) -> dict[str, FileDigest]:
    """Bring a folder below another to the disk; return the digest of each file, by its name.

    Left out is what is no regular file, what may not be read, and what is too deep.
    """
    files, folders = list[str](), list[Path]()
    _walk(top, top / below, files, folders)

    def digest(name: str) -> FileDigest | None:
        try:
            with untrusted_files.opened(top / path(name), _ANY_LENGTH, top=top) as file:
                os.fsync(file.fileno())
                return _of(file)
        except (FileNotFoundError, untrusted_files.UnreadableError):
            return None

    with ThreadPoolExecutor(disk.THREADS) as pool:
        by_path = dict(zip(files, pool.map(digest, files), strict=True))
    disk.settle(folders)
    return {name: one for name, one in by_path.items() if one is not None}


def _of(file: TextIO) -> FileDigest:
    size, sha256 = 0, hashlib.sha256()
    while chunk := file.buffer.read(_CHUNK_BYTES):
        size += len(chunk)
        sha256.update(chunk)
    return FileDigest(bytes=size, sha256=sha256.hexdigest())


def names(top: Path, below: str) -> list[str]:
    """Name the regular files in a folder below another, as :func:`of_folder` does, unread."""
    found = list[str]()
    _walk(top, top / below, found, [])
    return found


def _walk(top: Path, folder: Path, files: list[str], folders: list[Path], depth: int = 0) -> None:
    """Collect what lies below a folder, without following a link."""
    if depth > DEEPEST or not is_folder(folder):
        return
    folders.append(folder)
    with suppress(OSError):  # it is closed to us, or its path is too long
        for entry in sorted(os.scandir(folder), key=lambda one: os.fsencode(one.name)):
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                _walk(top, path, files, folders, depth + 1)
            elif entry.is_file(follow_symlinks=False):
                files.append(quote(os.fsencode(path.relative_to(top)), safe=_PLAIN))


def is_folder(path: str | Path) -> bool:
    """Whether the path is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def path(name: str) -> str:
    """Return the path that a percent-encoded name stands for."""
    return os.fsdecode(unquote_to_bytes(name))


def sealed(document: Mapping[str, Any]) -> bytes:
    """Write a document as JSON whose last member, ``sha256``, is the digest of the text.

    The digest is that of the text with 64 zeros in its place.
    """
    text = json.dumps({**document, "sha256": _NO_DIGEST}, indent=1) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    before, _, after = text.rpartition(_NO_DIGEST)
    return (before + digest + after).encode()


def unsealed(content: bytes) -> dict[str, Any]:
    """Read what :func:`sealed` wrote, without the digest.

    Raises:
        DifferentError: It is not what was written, or no JSON object.
    """
    text = content.decode(errors="replace")
    seal = _SEAL.search(text)
    if seal is None:
        raise DifferentError("does not end in the SHA-256 of itself, as it was written")
    unnamed = text[: seal.start(1)] + _NO_DIGEST + text[seal.end(1) :]
    if hashlib.sha256(unnamed.encode()).hexdigest() != seal[1]:
        raise DifferentError("has another SHA-256 than when it was written")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DifferentError(f"cannot be parsed: {type(error).__name__}") from None
    if not isinstance(document, dict):
        raise DifferentError("is no JSON object")
    return {name: value for name, value in document.items() if name != "sha256"}
