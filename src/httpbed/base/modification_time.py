"""The modification time of files that servers serve.

Servers send it (Last-Modified, ETag), and HPACK and QPACK encode other digits in another number of
bytes. So it is the same for every user, whenever the files were made.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from httpbed.base.errors import HostError

FIXED = datetime(2026, 1, 1, tzinfo=UTC)
_FIXED_NS = int(FIXED.timestamp()) * 10**9


def fix(file: Path) -> None:
    """Give a file the fixed time.

    Raises:
        HostError: It has another time and belongs to another user, who shares the cache.
    """
    if file.stat().st_mtime_ns == _FIXED_NS:
        return
    try:
        os.utime(file, ns=(_FIXED_NS, _FIXED_NS))
    except PermissionError:
        reason = f"{file} belongs to another user and has another modification time"
        raise HostError(reason, "set HTTPBED_CACHE to a folder of yours") from None


def fix_below(folder: Path) -> None:
    """Give all files below a folder the fixed time.

    Raises:
        HostError: As :func:`fix`.
    """
    for file in folder.rglob("*"):
        if file.is_file():
            fix(file)
