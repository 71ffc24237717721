"""Age and expiry of the archive's package index that a root filesystem is built from.

A Release file has a date, and in changing suites an expiry date (deb822, ``Date`` and
``Valid-Until``). A snapshot archive serves expired indexes.

Standard library only: set-up uses it before anything is installed.
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
"""A hook for mmdebstrap that writes the index's date to a file before the lists are deleted."""
EVEN_EXPIRED = '--aptopt=Acquire::Check-Valid-Until "false"'
"""Option of mmdebstrap that accepts an expired index."""
_EXPIRED = re.compile(r"^E: Release file .* is expired", re.MULTILINE)


def has_expired(log: str) -> bool:
    """Whether apt rejected an index because it has expired."""
    return _EXPIRED.search(log) is not None


def dated(file: Path) -> datetime | None:
    """Return the date that :data:`HOOK` wrote; None if there is none."""
    try:
        date = parsedate_to_datetime(file.read_text().strip())
    except (OSError, ValueError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def age_text(index: datetime | None, now: datetime) -> str:
    """Return the date and age of an index in words."""
    if index is None:
        return "package index of an unknown date"
    days = max(0, (now - index).days)
    age = f"{days} day{'s' * (days != 1)} old" if days else "of today"
    return f"package index of {index:%Y-%m-%d} ({age})"
