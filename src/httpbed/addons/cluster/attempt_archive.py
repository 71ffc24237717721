"""An attempt's folder as one file that travels from a worker to its campaign.

The archive is a tar file: ``trial.json`` first, then each file that it names. A program under test
chose names and contents of the artifacts, so the receiver writes only files that ``trial.json``
names, with the length that it gives, below a new folder; links and devices are refused. The digests
are compared afterwards (:mod:`httpbed.store.attempts`).
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from httpbed.base import digests, untrusted_files
from httpbed.base.digests import DifferentError, FileDigest
from httpbed.store import attempts
from httpbed.store.attempts import ARTIFACTS, TRIAL

OUR_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
"""Errors of the disk that is written to, not of the archive."""
MAX_BYTES = 2**30
"""All files of a block that travel are in the memory of worker and campaign. A page load
with a packet log and a film has some hundred MB at most."""


class UselessError(Exception):
    """What a worker returned is no block; the message says why."""


def content_bytes(folder: Path) -> int:
    """Return the length of a finished attempt's files, ``trial.json`` excepted."""
    listed = attempts.listed(untrusted_files.data(folder / TRIAL))
    return sum(one.bytes for one in listed.values())


def too_large(length: int) -> str:
    """Return why an attempt of so many bytes did not travel."""
    return (
        f"its files have {length / 2**30:.1f} GiB, and a block returns at most"
        f" {MAX_BYTES / 2**30:.0f} GiB; keep less (--keep)"
    )


def pack(folder: Path, target: BinaryIO) -> None:
    """Write the archive of a finished attempt."""
    names = [TRIAL, *attempts.listed(untrusted_files.data(folder / TRIAL))]
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            with untrusted_files.opened(folder / digests.path(name), MAX_BYTES, top=folder) as file:
                member = tarfile.TarInfo(name)
                member.size = os.fstat(file.fileno()).st_size
                tar.addfile(member, file.buffer)


def unpack(source: BinaryIO, folder: Path) -> None:
    """Write an archive's files into a new, empty folder.

    Raises:
        UselessError: It has other files than its ``trial.json`` names, or is no archive.
    """
    (folder / ARTIFACTS).mkdir()
    try:
        with tarfile.open(fileobj=source, mode="r:") as tar:
            _unpack(tar, folder)
    except (tarfile.TarError, ValueError, OverflowError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno in OUR_DISK:
            raise
        raise UselessError(f"the archive is damaged: {error}") from None


def _unpack(tar: tarfile.TarFile, folder: Path) -> None:
    missing: dict[str, FileDigest] | None = None
    for member in tar:
        if missing is None:
            missing = _first(tar, member, folder)
            continue
        _require_listed(member, missing)
        _write(tar, member, folder / digests.path(member.name))
        del missing[member.name]
    if missing is None or missing:
        raise DifferentError(f"{next(iter(missing or (TRIAL,)))} is missing")


def _first(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> dict[str, FileDigest]:
    if member.name != TRIAL or not _is_plain(member) or member.size > untrusted_files.OWN_BYTES:
        raise DifferentError(f"it does not begin with {TRIAL}")
    _write(tar, member, folder / TRIAL)
    listed = dict(attempts.listed((folder / TRIAL).read_bytes()))
    if sum(one.bytes for one in listed.values()) > MAX_BYTES:
        raise DifferentError(f"its files are longer than {MAX_BYTES} bytes")
    return listed


def _is_plain(member: tarfile.TarInfo) -> bool:
    """Whether a member has all its bytes in the archive; a sparse one expands to any length."""
    return member.isreg() and not member.issparse()


def _require_listed(member: tarfile.TarInfo, missing: Mapping[str, FileDigest]) -> None:
    digest = missing.get(member.name)
    if digest is None or not _is_plain(member):
        raise DifferentError(f"{member.name!r} is no file that {TRIAL} names")
    if digest.bytes != member.size:
        raise DifferentError(f"{member.name!r} has {member.size} bytes, not {digest.bytes}")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member) or io.BytesIO()
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
