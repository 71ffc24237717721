"""What all readers share: a program under test may have written anything."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from httpbed.host.sandbox import untrusted_files

UNREADABLE = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    csv.Error,
)
"""What reading nonsense raises; it becomes a complaint, never an error of the bed."""
LONGEST_S = 1e11
"""Some thousand years: curl counts from 1970 on, and what is reckoned with such times is finite."""
MOST = 2**63 - 1
"""No program counts further."""


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file that need not be there.

    Raises:
        UnreadableError: It is there, and not to be read.
    """
    try:
        return untrusted_files.text(file).splitlines()
    except FileNotFoundError:
        return []


def seconds(said: object) -> float:
    """Return a time that a program told.

    Raises:
        ValueError: It is no number, or beyond every trial's length.
    """
    value = float(said) if isinstance(said, int | float | str) else math.nan
    if not abs(value) <= LONGEST_S:
        msg = f"{said!r} is no time"
        raise ValueError(msg)
    return value


def count(said: object) -> int:
    """Return a number of things, such as bytes, that a program told.

    Raises:
        ValueError: It is no whole number, negative, or beyond what any program counts.
        OverflowError: It is infinite.
    """
    value = int(said) if isinstance(said, int | float | str) else -1
    if not 0 <= value <= MOST:
        msg = f"{said!r} is no number of anything"
        raise ValueError(msg)
    return value
