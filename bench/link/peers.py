"""The programs beside which httpbed-link is measured: found, or installed at a pinned version.

Runs before the namespaces are made, while package registries can still be reached.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from httpbed.base import folders
from httpbed.bed.sandbox.sandbox_spec import LINK, executable

RATTAN = "0.1.1"
RATTAN_BUILD_S = 1800.0
IPERF3 = "iperf3"
MAHIMAHI = "mm-delay"


@dataclass(frozen=True)
class Peers:
    """Where the programs are; for those that are not, why."""

    link: Path
    rattan: Path | None
    rattan_why: str
    iperf3: bool
    mahimahi: str
    """Why mahimahi is not measured."""

    def versions(self) -> dict[str, str]:
        """Ask each for its version."""
        said = {"rattan": RATTAN if self.rattan else f"missing: {self.rattan_why}"}
        said["iperf3"] = _said(IPERF3, "--version") if self.iperf3 else "missing"
        said["tc"] = _said("tc", "-V")
        said["mahimahi"] = self.mahimahi
        return said


def find(link: Path | None = None) -> Peers:
    """Look for all of them; nothing is installed."""
    rattan = _rattan_folder() / "bin/rattan"
    found = rattan.is_file()
    return Peers(
        link=link.absolute() if link else executable(LINK),
        rattan=rattan if found else None,
        rattan_why="" if found else "not installed",
        iperf3=shutil.which(IPERF3) is not None,
        mahimahi=_mahimahi(),
    )


def prepare() -> None:
    """Install what is missing and can be; a failure only leaves a peer out."""
    if not shutil.which(IPERF3):
        _install_iperf3()
    if not (_rattan_folder() / "bin/rattan").is_file():
        _install_rattan()


def _rattan_folder() -> Path:
    return folders.cache() / "bench" / f"rattan-{RATTAN}"


def _install_iperf3() -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        _say("iperf3 is missing; only root can install it, and a plain TCP source stands in")
        return
    _say("installing iperf3")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "--quiet=2", "-o", "DPkg::Lock::Timeout=120"]
    for words in (["update"], ["install", "--yes", "--no-install-recommends", IPERF3]):
        subprocess.run([*apt, *words], check=False, env=environment, stdout=subprocess.DEVNULL)


def _install_rattan() -> None:
    """Build it with its own lock file; debugging symbols, which it asks for, are left out."""
    if not shutil.which("cargo"):
        _say("rattan is left out: there is no cargo")
        return
    _say(f"building rattan {RATTAN}, once (some minutes)")
    words = ["cargo", "install", "rattan", "--version", RATTAN, "--locked", "--quiet"]
    words += ["--jobs", "2", "--root", str(_rattan_folder())]
    environment = {**os.environ, "CARGO_PROFILE_RELEASE_DEBUG": "0"}
    try:
        subprocess.run(words, check=True, env=environment, timeout=RATTAN_BUILD_S, cwd="/")
    except (subprocess.SubprocessError, OSError) as error:
        _say(f"rattan is left out: {error}")


def _mahimahi() -> str:
    """Tell whether its shells are here; they are setuid root and refuse to be started by root."""
    if not shutil.which(MAHIMAHI):
        return "not installed"
    return "installed, not measured: its shells refuse root, also a namespace's own"


def _said(*words: str) -> str:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else ""


def _say(line: str) -> None:
    print(f"bench-link: {line}", file=sys.stderr, flush=True)
