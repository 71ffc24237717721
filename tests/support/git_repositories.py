"""git in repositories that tests make."""

from __future__ import annotations

import subprocess
from pathlib import Path

IDENTITY = ("-c", "user.name=n", "-c", "user.email=n@example.test")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, and return what it prints, without space at its ends."""
    ended = subprocess.run(
        ["git", *IDENTITY, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()
