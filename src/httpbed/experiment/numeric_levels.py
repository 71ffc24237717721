"""Levels of a factor as numbers on an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from httpbed.base import units
from httpbed.experiment.impairments.queue import parse_queue_limit

_READERS: tuple[tuple[Callable[[str], float], float, str], ...] = (
    (units.parse_share, 0.01, "%"),
    (units.parse_duration, 1e-3, "ms"),
    (units.parse_rate, 1e6, "Mbit/s"),
    (units.parse_size, 1e3, "kB"),
    (lambda text: parse_queue_limit(text).amount, 1.0, "packets or BDP"),
    (float, 1.0, ""),
)
"""What reads a level, what one of the axis's unit is, and that unit."""


@dataclass(frozen=True)
class NumericLevels:
    """Levels as numbers of one unit."""

    places: Mapping[str, float]
    """By level, in ``unit``."""
    unit: str
    """Empty for plain numbers."""


def numeric_levels(levels: Iterable[str]) -> NumericLevels | None:
    """Return the levels as numbers; None if one is no number, or if their units differ in kind."""
    texts = tuple(levels)
    for read, factor, unit in _READERS:
        try:
            places = {text: read(text) / factor for text in texts}
        except ValueError:
            continue
        if all(map(math.isfinite, places.values())):
            return NumericLevels(places, unit)
    return None
