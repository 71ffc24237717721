"""Quantities in words, with the prefix that fits: the reverse of ``units``."""

from __future__ import annotations

Scale = tuple[tuple[float, str], ...]

RATES: Scale = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s"))
SIZES: Scale = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
DURATIONS: Scale = ((1, "s"), (1e-3, "ms"), (1e-6, "us"))

FULL, AT_A_GLANCE = 6, 3
"""Digits: of what was configured, and of what was counted."""


def rate(bit_s: float, digits: int = FULL) -> str:
    """Write ``10 Mbit/s``."""
    return _scaled(bit_s, RATES, digits)


def size(number: float, digits: int = FULL) -> str:
    """Write a number of bytes: ``1.5 MB``."""
    return _scaled(number, SIZES, digits)


def duration(seconds: float, digits: int = FULL) -> str:
    """Write ``25 ms``."""
    return _scaled(seconds, DURATIONS, digits)


def time(seconds: float) -> str:
    """Write how long something takes for people who wait: ``50 s``, ``12 min``, ``3.5 h``."""
    units = ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s"))
    length, unit = next((pair for pair in units if seconds >= 2 * pair[0]), units[-1])
    return f"{seconds / length:.{1 if seconds < 10 * length and length > 60 else 0}f} {unit}"  # noqa: PLR2004 - a digit more of few hours


def share(value: float) -> str:
    """Write ``4 %``."""
    return f"{value * 100:.4g} %"


def _scaled(value: float, scale: Scale, digits: int) -> str:
    """Round before the unit is chosen, as 999 950 with three digits is a million."""
    rounded = float(f"{value:.{digits}g}")
    factor, unit = next((pair for pair in scale if abs(rounded) >= pair[0]), scale[-1])
    return f"{rounded / factor:.{digits}g} {unit}"
