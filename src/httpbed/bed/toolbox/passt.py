"""Finds pasta, which connects emulated links with the outside, or unpacks it into the cache.

pasta is an executable of Debian's package passt. It needs only the C library, so the package of
this machine's own suite runs without an installation.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from httpbed.base import folders
from httpbed.bed.machine.backend import TUN
from httpbed.bed.toolbox import debian

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
    debian.unpack_once((_PACKAGE,), _unpacked())
    return _unpacked() / _PROGRAM


def fault(program: Path | None, tun: Path = TUN) -> tuple[str, str] | None:
    """Return why pasta does not work on this machine, and the remedy; None if it works.

    It is started, because one of another distribution may lack its C library, and the device that
    it opens is opened.
    """
    install = "apt install passt, or run httpbed link, which fetches it"
    if program is None:
        return "pasta is missing", install
    try:
        done = subprocess.run([program, "--version"], check=False, capture_output=True)
    except OSError as error:
        return f"{program}: {error.strerror}", install
    if done.returncode != 0:
        return f"{program}: exit status {done.returncode}", install
    try:
        os.close(os.open(tun, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        remedy = f"ask the administrator to run: modprobe tun; chmod 666 {tun}"
        return f"{tun}: {error.strerror}", remedy
    return None


def _unpacked() -> Path:
    return folders.cache() / _PACKAGE
