"""Quantities as authors write them ("10 Mbit/s", "25 ms", "4 %") and as the program counts.

Every quantity in a file carries its unit; a bare number is a mistake. Inside the program a
rate is in bit/s, a duration in seconds, a share between 0 and 1 and a size in bytes.
Decimal prefixes are powers of ten (MB, SI), binary ones powers of two (MiB, IEC 80000-13).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from httpbed.experiment import quantities

NS = 1e9
"""Nanoseconds in a second: clocks count in the former, whatever is told is in the latter."""
QUANTITY = re.compile(r"\s*(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>\S.*?)?\s*")
"""A number and what may be its unit, in whatever spelling."""

_MOST_LETTERS = 60
_MOST_DIGITS = 30
"""Before or after the point; more is a slip, and an exponent expanded would fill the memory."""

_RATES: Mapping[str, int | Decimal] = {
    "bit/s": 1,
    "kbit/s": 10**3,
    "Mbit/s": 10**6,
    "Gbit/s": 10**9,
}
DURATIONS: Mapping[str, int | Decimal] = {
    "us": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": 1,
    "min": 60,
    "h": 3600,
}
_SHARES: Mapping[str, int | Decimal] = {"%": Decimal("0.01")}
SIZES = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}


def split(text: object, units: Mapping[str, int | Decimal], example: str) -> tuple[Decimal, str]:
    """Split ``text`` into its number and one of ``units``.

    Raises:
        ValueError: There is no number, an absurd one, no unit, or one not in ``units``.
    """
    if not isinstance(text, str):
        msg = f"a number with a unit is needed, such as {example!r}, not {text!r}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic collects ValueError, not TypeError
    if len(text) > _MOST_LETTERS:
        msg = f"{text[:20]!r}... is too long for a number with a unit, such as {example!r}"
        raise ValueError(msg)
    match = QUANTITY.fullmatch(text)
    try:
        number = Decimal(match["number"]) if match else None
    except InvalidOperation:
        number = None
    if match is None or number is None:
        msg = f"{text!r} is not a number with a unit; write it like {example!r}"
        raise ValueError(msg)
    if match["unit"] not in units:
        named = f"unknown unit {match['unit']!r}" if match["unit"] else "the unit is missing"
        msg = f"{named} in {text!r}; known: {', '.join(units)}"
        raise ValueError(msg)
    if abs(number.adjusted()) > _MOST_DIGITS:
        msg = f"{text!r} is too large or too small to be meant"
        raise ValueError(msg)
    return number, match["unit"]


def _scaled(text: object, units: Mapping[str, int | Decimal], example: str) -> Decimal:
    number, unit = split(text, units, example)
    if number < 0:
        msg = f"{text!r} is negative"
        raise ValueError(msg)
    return number * Decimal(units[unit])


SLOWEST_BIT_S = 200
"""A packet of 1500 bytes in a minute."""
FASTEST_BIT_S = 10**11


def parse_rate(text: object) -> int:
    """Bits per second of ``"10 Mbit/s"``; at least a full packet in a minute."""
    bit_s = int(_scaled(text, _RATES, "10 Mbit/s"))
    if bit_s < SLOWEST_BIT_S:
        raise ValueError(f"{text!r} is slower than a packet a minute, {SLOWEST_BIT_S} bit/s")
    if bit_s > FASTEST_BIT_S:
        raise ValueError(f"{text!r} is faster than 100 Gbit/s")
    return bit_s


def parse_duration(text: object) -> float:
    """Seconds of ``"25 ms"``."""
    return float(_scaled(text, DURATIONS, "25 ms"))


def parse_signed_duration(text: object) -> float:
    """Seconds of ``"-2 ms"``: a deviation, to either side."""
    number, unit = split(text, DURATIONS, "-2 ms")
    return float(number * Decimal(DURATIONS[unit]))


def parse_share(text: object) -> float:
    """Fraction between 0 and 1 of ``"4 %"``."""
    share = _scaled(text, _SHARES, "4 %")
    if share > 1:
        msg = f"{text!r} is above 100 %"
        raise ValueError(msg)
    return float(share)


def parse_size(text: object) -> int:
    """Bytes of ``"1 MB"`` (10^6) or ``"1 MiB"`` (2^20)."""
    size = _scaled(text, SIZES, "1 MB")
    if size != int(size):
        msg = f"{text!r} is not a whole number of bytes"
        raise ValueError(msg)
    return int(size)


def at_most(most_s: float) -> AfterValidator:
    """Refuse a duration that is longer, to either side; in seconds, told with their unit."""

    def check(seconds: float) -> float:
        if abs(seconds) > most_s:
            told = f"{quantities.duration(seconds)} is longer than {quantities.duration(most_s)}"
            raise ValueError(told)
        return seconds

    return AfterValidator(check)


BitRate = Annotated[
    int,
    BeforeValidator(parse_rate),
    WithJsonSchema({"type": "string", "examples": ["10 Mbit/s"]}),
]
"""Bits per second."""
Seconds = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema({"type": "string", "examples": ["25 ms"]}),
]
"""A duration in seconds."""
SignedSeconds = Annotated[
    float,
    BeforeValidator(parse_signed_duration),
    WithJsonSchema({"type": "string", "examples": ["-2 ms"]}),
]
"""A duration in seconds that may be negative."""
Share = Annotated[
    float,
    BeforeValidator(parse_share),
    WithJsonSchema({"type": "string", "examples": ["4 %"]}),
]
"""A fraction between 0 and 1."""
Bytes = Annotated[
    int,
    BeforeValidator(parse_size),
    WithJsonSchema({"type": "string", "examples": ["1 MB"]}),
]
"""A number of bytes."""
