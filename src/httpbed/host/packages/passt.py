"""Finds pasta, which connects emulated links with the outside, or unpacks it into the cache.

pasta is an executable of Debian's package passt. It needs only the C library, so the package of
this machine's own suite runs without an installation.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from httpbed.host import folders
from httpbed.host.packages import apt

_PACKAGE = "passt"
_PROGRAM = Path("usr/bin/pasta")


def find() -> Path | None:
    """Return this machine's pasta, else the one in the cache; None if there is neither."""
    if installed := shutil.which(_PROGRAM.name):
        return Path(installed)
    unpacked = _unpacked() / _PROGRAM
    return unpacked if unpacked.exists() else None


def ensure(say: Callable[[str], None]) -> Path:
    """Return pasta; unpack it into the cache if this machine has none.

    Raises:
        HostError: apt is missing or cannot download it.
    """
    if found := find():
        return found
    say("fetching pasta, which this machine lacks, once (usually 10 s)")
    apt.unpack_once((_PACKAGE,), _unpacked())
    return _unpacked() / _PROGRAM


def _unpacked() -> Path:
    return folders.cache() / _PACKAGE
