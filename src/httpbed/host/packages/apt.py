"""Debian packages without installing them: apt downloads without rights, dpkg-deb unpacks.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from httpbed.experiment.errors import HostError


def unpack(packages: tuple[str, ...], target: Path) -> None:
    """Put the files of packages, without what they depend on, into a folder.

    Raises:
        HostError: When apt is not there or cannot download them.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".apt-") as scratch:
        _download(packages, Path(scratch))
        for package in sorted(Path(scratch).glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", package, target], check=True)


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Download with the machine's package lists, or else with fresh ones of our own."""
    lists = folder / "lists"
    lists.mkdir()
    own = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={folder / 'cache'}"]
    for words in (["download", *packages], [*own, "update"], [*own, "download", *packages]):
        told = _apt_get(folder, words)
        if told is None and "download" in words:
            return
    raise HostError(
        f"apt could not download {' and '.join(packages)}: {told}",
        f"have the administrator install {' and '.join(packages)}, or try again later",
    )


def _apt_get(folder: Path, words: list[str]) -> str | None:
    """Run apt-get; None if it went well, else what it complained of last."""
    command = ["apt-get", "--quiet=2", *words]
    try:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no apt-get"
    lines = done.stderr.strip().splitlines() or ["it did not say why"]
    return None if done.returncode == 0 else lines[-1]
