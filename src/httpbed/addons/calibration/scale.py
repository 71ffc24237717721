"""How much of the calibration to run, and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Scale = Literal["smoke", "standard", "full"]
SCALES: tuple[Scale, ...] = ("smoke", "standard", "full")
ABOUT_S: Mapping[Scale, int] = {"smoke": 55, "standard": 100, "full": 400}
"""Seconds of a scale, about: the sum of its cells, which a test compares."""


def about(scale: Scale) -> str:
    """Return how long a scale takes, in words."""
    seconds = ABOUT_S[scale]
    return f"{seconds} s" if seconds <= 120 else f"{round(seconds / 60)} min"
