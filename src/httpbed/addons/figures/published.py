"""Published values as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from httpbed.base import units
from httpbed.base.errors import RejectedValueError

_READERS: Mapping[str, Callable[[str], float]] = {
    "s": units.parse_duration,
    "bit/s": units.parse_rate,
    "byte": units.parse_size,
    "byte/s": lambda text: float(units.parse_size(text.removesuffix("/s"))),
}
_EXAMPLES = {"s": "15 s", "bit/s": "8 Mbit/s", "byte": "1 MB", "byte/s": "62 kB/s"}


def parse_published(text: str, unit: str) -> float:
    """Return a published value in the metric's unit.

    Raises:
        RejectedValueError: It is no number with such a unit.
    """
    if unit in _READERS:
        if unit == "byte/s" and not text.endswith("/s"):
            remedy = f"write it like {_EXAMPLES[unit]!r}"
            raise RejectedValueError(f"{text!r} has no rate's unit", remedy)
        return float(_READERS[unit](text))
    if text.endswith("%"):
        return units.parse_share(text)
    number = text.removesuffix(unit).strip() if unit != "1" else text
    match = units.QUANTITY.fullmatch(number)
    if match is None or match["unit"] or match["number"].count(".") > 1:
        example = "0.8" if unit == "1" else f"2 {unit}"
        raise RejectedValueError(f"{text!r} is not a number", f"write it like {example!r}")
    return float(match["number"])
