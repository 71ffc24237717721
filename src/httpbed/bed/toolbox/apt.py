"""Unpacks Debian packages into a folder; needs no root rights.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from httpbed.base.errors import HostError


def unpack(packages: tuple[str, ...], target: Path) -> None:
    """Unpack packages, without their dependencies, into a folder.

    Raises:
        HostError: apt is missing or cannot download them.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".apt-") as scratch:
        _download(packages, Path(scratch))
        for package in sorted(Path(scratch).glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", package, target], check=True)


def unpack_once(packages: tuple[str, ...], target: Path) -> None:
    """Unpack packages into a new folder, unless it exists; it is complete once it exists.

    Raises:
        HostError: apt is missing or cannot download them.
    """
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        tree = Path(scratch, "tree")
        unpack(packages, tree)
        try:
            tree.rename(target)
        except OSError:  # another process was first
            if not target.exists():
                raise


def _download(packages: tuple[str, ...], folder: Path) -> None:
    """Download with the machine's package lists, else with newly fetched lists."""
    lists = folder / "lists"
    lists.mkdir()
    own = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={folder / 'cache'}"]
    for words in (["download", *packages], [*own, "update"], [*own, "download", *packages]):
        error = _apt_get(folder, words)
        if error is None and "download" in words:
            return
    raise HostError(
        f"apt could not download {' and '.join(packages)}: {error}",
        f"ask the administrator to install {' and '.join(packages)}, or try again later",
    )


def _apt_get(folder: Path, words: list[str]) -> str | None:
    """Run apt-get; return None if it succeeded, else its last error message."""
    command = ["apt-get", "--quiet=2", *words]
    try:
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no apt-get"
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return None if done.returncode == 0 else lines[-1]
