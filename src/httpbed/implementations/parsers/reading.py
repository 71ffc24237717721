"""What all readers share: a program under test may have written anything."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from httpbed.process import left

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


def lines_of(file: Path) -> list[str]:
    """Return the lines of a file that need not be there.

    Raises:
        UnreadableError: It is there, and not to be read.
    """
    try:
        return left.text(file).splitlines()
    except FileNotFoundError:
        return []


def seconds(said: object) -> float:
    """Return a time that a program told.

    Raises:
        ValueError: It is no finite number.
    """
    value = float(said) if isinstance(said, int | float | str) else math.nan
    if not math.isfinite(value):
        msg = f"{said!r} is no time"
        raise ValueError(msg)
    return value
