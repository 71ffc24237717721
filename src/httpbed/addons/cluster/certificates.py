"""The certificates by which the members of a cluster know each other.

Dask runs what a member sends, so members are who has the key: scheduler, workers and campaigns show
the same certificate, and accept only those that its authority signed. The authority's own key is
not kept, so no further certificate can be made. Dask does not compare host names.

The signing library is imported only where a certificate is made or read.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from httpbed.base import folders
from httpbed.base.errors import ConfigError, HostError, Mistake
from httpbed.programs.part import AUTHORITY

CERTIFICATE, KEY = "member.pem", "member.key"
VALID = timedelta(days=365)
MAX_BYTES = 100_000
"""Upper bound of a file with a certificate or a key; ours have less than 1 kB."""
START = (
    "start one with dask scheduler, as httpbed worker --init shows; its certificates have to be"
    " those of this machine"
)
"""The remedy where no scheduler answers."""
_MAKE = "make new ones with httpbed worker --init, and copy the folder to every machine"


@dataclass(frozen=True)
class Scheduler:
    """Where the scheduler is, and how this member shows that it is one."""

    address: str
    certificates: Path
    """The folder of authority, certificate and key."""

    def settings(self) -> dict[str, object]:
        """Return the settings of Dask for a client or a worker."""
        certificate = {
            "cert": str(self.certificates / CERTIFICATE),
            "key": str(self.certificates / KEY),
        }
        return {
            "distributed.comm.require-encryption": True,
            "distributed.comm.tls.ca-file": str(self.certificates / AUTHORITY),
            "distributed.comm.tls.min-version": 1.3,
            "distributed.comm.tls.client": certificate,
            "distributed.comm.tls.worker": certificate,
        }


def default_folder() -> Path:
    """Return the user's own folder of certificates."""
    return folders.config() / "cluster"


def make(folder: Path, now: datetime) -> datetime:
    """Write authority, certificate and key into a new folder; return their last time.

    Raises:
        ConfigError: The folder exists, or cannot be made.
    """
    from httpbed.trial import tls_signing

    remedy, until = "choose another folder with --certificates", now + VALID
    contents = tls_signing.member((now - timedelta(days=1), until))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)  # fails on a link, too
    except FileExistsError as error:
        place = Path(error.filename)  # a file may be in the place of a folder above, too
        reason = "exists and has no key of a cluster"
        if (place / KEY).exists():
            reason, remedy = "has certificates", f"remove it if no cluster uses it, or {remedy}"
        raise ConfigError([Mistake(str(place), reason, remedy)]) from None
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
        raise ConfigError([Mistake(str(folder), reason, remedy)]) from None
    for name, content in zip((AUTHORITY, CERTIFICATE, KEY), contents, strict=True):
        handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    return until


def require(folder: Path, now: datetime) -> None:
    """Check that a folder has a certificate that the other members accept now, and only they.

    Raises:
        HostError: It has none, others can read or change it, or it is not valid.
    """
    from httpbed.trial import tls_signing

    if not folder.exists():
        raise HostError(f"{folder} has no certificates of a cluster", _MAKE)
    _require_own(folder, folder.stat(), 0o022)
    authority, certificate, key = (_content(folder / one) for one in (AUTHORITY, CERTIFICATE, KEY))
    if reason := tls_signing.wrong(authority, certificate, key, now):
        raise HostError(f"{folder / CERTIFICATE}: {reason}", _MAKE)


def _content(path: Path) -> bytes:
    """Return what a file has whose key or authority only its owner, or root, can change.

    Links are followed, as Kubernetes mounts secrets by links: the folder is its owner's.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise HostError(f"{path} is no plain file", _MAKE)
            _require_own(path, found, 0o077 if path.name == KEY else 0o022)
            return file.read(MAX_BYTES)
    except OSError as error:
        raise HostError(f"{path} cannot be read: {error.strerror}", _MAKE) from None


def _require_own(path: Path, status: os.stat_result, forbidden: int) -> None:
    if status.st_uid not in {os.getuid(), 0}:
        remedy = "copy the folder with your own rights, or name another one with --certificates"
        raise HostError(f"{path} belongs to another user", remedy)
    if status.st_mode & forbidden:
        what = "read" if forbidden & 0o044 else "change"
        remedy = f"protect it: chmod go-rwx {path}; if others had it, {_MAKE}"
        raise HostError(f"other users can {what} {path}", remedy)
