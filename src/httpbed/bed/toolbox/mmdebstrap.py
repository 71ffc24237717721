"""Finds mmdebstrap, which builds root filesystems, or unpacks it into the cache.

mmdebstrap is one Perl script, so it needs no installation.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import apt

# The keyring verifies Debian's suites; Debian's derivatives may not have it.
_PACKAGES = ("mmdebstrap", "debian-archive-keyring")
_KEYRINGS = Path("usr/share/keyrings")
_NEEDED = ("apt-get", "dpkg-deb", "perl", "tar")


def command(say: Callable[[str], None]) -> list[str]:
    """Return mmdebstrap's command; fetch mmdebstrap if it is missing."""
    _require_tools()
    keys = Path("/", _KEYRINGS, "debian-archive-keyring.gpg")
    if (installed := shutil.which("mmdebstrap")) and keys.exists():
        return [installed]
    unpacked = folders.cache() / "mmdebstrap"
    if not unpacked.exists():
        say("fetching mmdebstrap")
        apt.unpack_once(_PACKAGES, unpacked)
    return ["perl", str(unpacked / "usr/bin/mmdebstrap"), f"--keyring={unpacked / _KEYRINGS}"]


def _require_tools() -> None:
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing:
        raise HostError(
            f"no root filesystem can be built without {', '.join(missing)}",
            "install them (Debian and its derivatives have them), or build the toolbox on a"
            " machine that has them and copy its cache folder to this machine",
        )
