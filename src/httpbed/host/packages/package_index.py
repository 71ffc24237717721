"""The archive's package index that a root filesystem is built from: how old it is, and expired.

A Release file says when it was made and, of suites that move, until when it is valid (deb822,
``Date`` and ``Valid-Until``). An archive that is a snapshot serves one that has expired.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

VARIABLE = "HTTPBED_INDEX"
HOOK = (
    f'grep -hs "^Date:" "$1"/var/lib/apt/lists/*Release | head -n 1 | cut -d" " -f2- >"${VARIABLE}"'
)
"""Run by mmdebstrap while the lists are there: writes the index's date into a file."""
EVEN_EXPIRED = '--aptopt=Acquire::Check-Valid-Until "false"'
"""Has mmdebstrap take an index that has expired."""
_EXPIRED = re.compile(r"^E: Release file .* is expired", re.MULTILINE)


def has_expired(log: str) -> bool:
    """Whether apt refused an index because it has expired."""
    return _EXPIRED.search(log) is not None


def dated(file: Path) -> datetime | None:
    """Read what :data:`HOOK` wrote; None where there is no date."""
    try:
        found = parsedate_to_datetime(file.read_text().strip())
    except (OSError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def told(index: datetime | None, now: datetime) -> str:
    """Say how old an index is."""
    if index is None:
        return "package index of an unknown date"
    days = max(0, (now - index).days)
    age = f"{days} day{'s' * (days != 1)} old" if days else "of today"
    return f"package index of {index:%Y-%m-%d} ({age})"
