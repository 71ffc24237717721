"""Values in the output of programs under test, which may contain anything."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from httpbed.base import untrusted_files

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    csv.Error,
)
"""What reading such output may raise; parsers turn it into a complaint."""
LONGEST_S = 1e11
"""About 3,000 years: curl counts from 1970, and sums of such times are finite."""
MAX_COUNT = 2**63 - 1
"""Larger counts are rejected."""


def reason(error: Exception) -> str:
    """Say what made output unreadable; a key that is missing is named."""
    return f"it has no {error.args[0]}" if isinstance(error, KeyError) else repr(error)


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file; none if the file is missing.

    Raises:
        UnreadableError: The file exists but cannot be read.
    """
    try:
        return list(untrusted_files.lines(file))
    except FileNotFoundError:
        return []


def seconds(logged: object) -> float:
    """Return a time in seconds.

    Raises:
        ValueError: It is not a number, or longer than ``LONGEST_S``.
    """
    value = float(logged) if isinstance(logged, int | float | str) else math.nan
    if not abs(value) <= LONGEST_S:
        msg = f"{logged!r} is not a time"
        raise ValueError(msg)
    return value


def count(logged: object) -> int:
    """Return a count, such as a number of bytes.

    Raises:
        ValueError: It is not a whole number from 0 to ``MAX_COUNT``.
        OverflowError: It is infinite.
    """
    value = int(logged) if isinstance(logged, int | float | str) else -1
    if not 0 <= value <= MAX_COUNT:
        msg = f"{logged!r} is not a count"
        raise ValueError(msg)
    return value
