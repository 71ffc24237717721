"""Quantities in words, with the prefix that fits: the reverse of ``units``."""

from __future__ import annotations


def rate(bit_s: float) -> str:
    """Write ``10 Mbit/s``."""
    return _scaled(bit_s, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")))


def duration(seconds: float) -> str:
    """Write ``25 ms``."""
    return _scaled(seconds, ((1, "s"), (1e-3, "ms"), (1e-6, "us")))


def share(value: float) -> str:
    """Write ``4 %``."""
    return f"{value * 100:.4g} %"


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    factor, unit = next((pair for pair in units if abs(value) >= pair[0]), units[-1])
    return f"{value / factor:.6g} {unit}"
