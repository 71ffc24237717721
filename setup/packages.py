"""Installs missing Debian packages, if the user is root; unpacks pasta for any other user."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess

import progress
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import debian


def ensure() -> None:
    """As root, install the missing packages; as another user, do nothing.

    For an ordinary user, `environment.py` unpacks pip, `httpbed.bed.toolbox.debian` unpacks
    mmdebstrap, and `unpack_pasta` unpacks pasta.
    """
    missing = _missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        with progress.step(f"installing {', '.join(missing)} with apt", "30 s"):
            _install(missing)


def unpack_pasta() -> None:
    """Unpack pasta into the cache if this machine has none; only `httpbed link` needs it."""
    if debian.find_pasta():
        return
    try:
        with progress.step("unpacking pasta with apt", "10 s"):
            debian.ensure_pasta(lambda _: None)
    except HostError as error:
        progress.say(f"without pasta, httpbed link has no outside network: {error.reason}")


def _missing() -> list[str]:
    present = {
        "mmdebstrap": shutil.which("mmdebstrap"),
        "iproute2": shutil.which("ip"),
        "ethtool": shutil.which("ethtool"),
        "passt": shutil.which("pasta"),
        "python3-venv": importlib.util.find_spec("ensurepip"),
    }
    return [package for package, place in present.items() if not place]


def _install(missing: list[str]) -> None:
    """Install packages. A failure is ignored: later steps work without these packages, too."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    audit = subprocess.run(["dpkg", "--audit"], check=False, capture_output=True)
    steps = [["dpkg", "--configure", "-a"]] if audit.stdout else []  # apt was killed
    install = ["apt-get", "--quiet=2", "-o", "DPkg::Lock::Timeout=120", "install", "--yes"]
    install += ["--no-install-recommends", *missing]
    for step in (*steps, ["apt-get", "--quiet=2", "update"], install):
        subprocess.run(step, check=False, env=environment, stdout=subprocess.DEVNULL)
