"""Regions: the values that support a claim, as text and as an interval of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from httpbed.base import units
from httpbed.base.errors import RejectedValueError

PLAIN = "1"
"""The unit of ratios, counts, ranks and correlations: a number, with or without ``%``."""
_COMPARISON = re.compile(r"\s*(<=|>=|<|>|=)\s*(.+)")
_RANGE = re.compile(r"\s*(.+?)\s*\.\.\s*(.+?)\s*")
_UNITS: Mapping[str, Mapping[str, int | Decimal]] = {
    "s": units.DURATIONS,
    "bit/s": units.RATES,
    "byte": units.SIZES,
    "byte/s": {f"{name}/s": factor for name, factor in units.SIZES.items()},
    "s/GB": {"s/GB": 1},
}
_EXAMPLES = {"s": "9 s", "bit/s": "10 Mbit/s", "byte": "1 MB", "byte/s": "1 MB/s", "s/GB": "2 s/GB"}
FORMS = '"< 1", ">= 80 %", "8 s .. 10 s" or "= 1"'


@dataclass(frozen=True)
class Region:
    """An interval of values. An open end does not belong to it; infinite ends do."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @property
    def empty(self) -> bool:
        """Whether no value lies in it."""
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def contains(self, value: float) -> bool:
        """Whether a value lies in it."""
        above = value > self.low or (value == self.low and not self.low_open)
        return above and (value < self.high or (value == self.high and not self.high_open))

    def contains_all(self, low: float, high: float) -> bool:
        """Whether the whole closed interval lies in it."""
        return self.contains(low) and self.contains(high)

    def meets(self, low: float, high: float) -> bool:
        """Whether a part of the closed interval lies in it."""
        return not Region(
            max(low, self.low),
            min(high, self.high),
            low_open=self.low_open and self.low >= low,
            high_open=self.high_open and self.high <= high,
        ).empty


def parse_region(text: str, unit: str) -> Region:
    """Return the region of ``"< 1"``, ``">= 80 %"``, ``"8 s .. 10 s"`` or ``"= 1"``.

    Args:
        text: The region as written.
        unit: The unit of its values, as of a metric: ``s``, ``bit/s``, ``byte``, ``byte/s``,
            ``s/GB``, or ``1``.

    Raises:
        RejectedValueError: It has another form, another unit, or no value.
    """
    if match := _RANGE.fullmatch(text):
        low, high = (_number(part, unit) for part in match.groups())
        region = Region(low, high, low_open=False, high_open=False)
    elif match := _COMPARISON.fullmatch(text):
        sign, value = match[1], _number(match[2], unit)
        low = value if sign in {">", ">=", "="} else -math.inf
        high = value if sign in {"<", "<=", "="} else math.inf
        region = Region(low, high, low_open=sign == ">", high_open=sign == "<")
    else:
        raise RejectedValueError(f"{text!r} is not a region", f"write {FORMS}")
    if region.empty:
        raise RejectedValueError(f"no value lies in {text!r}", "write the smaller end first")
    return region


def _number(text: str, unit: str) -> float:
    if unit in _UNITS:
        number, name = units.split(text, _UNITS[unit], _EXAMPLES[unit])
        return float(number * Decimal(_UNITS[unit][name]))
    if "%" in text:
        number, _ = units.split(text, units.SHARES, "80 %")
        return float(number / 100)
    match = units.QUANTITY.fullmatch(text)
    if match is None or match["unit"]:
        reason = f"{text!r} is not a number or a percentage"
        raise RejectedValueError(reason, "write it like '1.2' or '80 %'")
    number, _ = units.split(f"{text} %", units.SHARES, "1.2")
    return float(number)
