"""One property of a sender: what was asked, what was seen, pass or fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

BUSY = "out of tolerance, but the machine was too busy to blame the sender"


@dataclass(frozen=True)
class Finding:
    """A property with its tolerance. ``passed`` is None where it could not be seen."""

    name: str
    """What is judged."""
    seen: float | None
    """The figure; the median where there were several."""
    low: float
    high: float
    unit: str
    """What the figure counts, as it follows it."""
    passed: bool | None
    why: str = ""
    """Why it could not be seen, or what it follows from."""
    n: int = 1
    """Number of trials it is of."""

    def as_json(self) -> dict[str, Any]:
        """Return it as values that JSON can hold: an open bound is null."""
        bounds = {"low": _finite(self.low), "high": _finite(self.high)}
        return asdict(self) | bounds


def _finite(bound: float) -> float | None:
    return bound if abs(bound) != float("inf") else None


def within(  # noqa: PLR0913 - the remarks are told by name
    name: str,
    values: Sequence[float | None],
    bounds: tuple[float, float],
    unit: str = "",
    *,
    strained: bool = False,
    unseen: str = "no trial shows it",
    why: str = "",
) -> Finding:
    """Judge the median of what the trials showed; not judged where none did.

    On a ``strained`` machine a failure is not judged either: it may be the machine's.
    """
    known = [value for value in values if value is not None]
    low, high = bounds
    if not known:
        return Finding(name, None, low, high, unit, None, unseen, 0)
    seen = float(median(known))
    passed = low <= seen <= high
    if strained and not passed:
        return Finding(name, seen, low, high, unit, None, BUSY, len(known))
    return Finding(name, seen, low, high, unit, passed, why, len(known))
