"""The modification time of files that servers serve.

Servers send it (Last-Modified, ETag), and compression gives other digits another length. So it is
the same for every user, whenever the files were made.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

FIXED = datetime(2026, 1, 1, tzinfo=UTC)
_FIXED_NS = int(FIXED.timestamp()) * 10**9


def fix(file: Path) -> None:
    """Give a file the fixed time; one of another user, in a shared cache, keeps its own."""
    if file.stat().st_mtime_ns != _FIXED_NS:
        with contextlib.suppress(PermissionError):
            os.utime(file, ns=(_FIXED_NS, _FIXED_NS))


def fix_below(folder: Path) -> None:
    """Give all files below a folder the fixed time."""
    for file in folder.rglob("*"):
        if file.is_file():
            fix(file)
