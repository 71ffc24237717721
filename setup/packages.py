"""Debian packages: installed by root; an ordinary user downloads and unpacks them instead."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable


def ensure(say: Callable[[str], None]) -> None:
    """As root, install what is missing and can be installed; as another user do nothing.

    An ordinary user is served where the thing is used: `environment.py` unpacks pip, and
    `httpbed.host.packages.mmdebstrap` unpacks mmdebstrap, both by `httpbed.host.packages.apt`.
    """
    missing = _missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {', '.join(missing)}")
        _install(missing)


def _missing() -> list[str]:
    present = {
        "mmdebstrap": shutil.which("mmdebstrap"),
        "iproute2": shutil.which("ip"),
        "ethtool": shutil.which("ethtool"),
        "passt": shutil.which("pasta"),
        "python3-venv": importlib.util.find_spec("ensurepip"),
    }
    return [package for package, found in present.items() if not found]


def _install(missing: list[str]) -> None:
    """Install; a failure is not the end, since there are ways without each of them."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    audit = subprocess.run(["dpkg", "--audit"], check=False, capture_output=True)
    steps = [["dpkg", "--configure", "-a"]] if audit.stdout else []  # one was killed half-way
    install = ["apt-get", "--quiet=2", "-o", "DPkg::Lock::Timeout=120", "install", "--yes"]
    install += ["--no-install-recommends", *missing]
    for step in (*steps, ["apt-get", "--quiet=2", "update"], install):
        subprocess.run(step, check=False, env=environment, stdout=subprocess.DEVNULL)
