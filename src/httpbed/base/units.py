"""Quantities with units: ``parse_`` functions read them, ``format_`` functions write them.

Every quantity in an experiment file has a unit ("10 Mbit/s", "25 ms", "4 %"); a bare number is
rejected. Inside the program a rate is in bit/s, a duration in seconds, a size in bytes, and a share
is between 0 and 1. Decimal prefixes are powers of ten (MB), binary ones powers of two (MiB, IEC
80000-13). A rejected quantity is a RejectedValueError, whose remedy may name an ``example``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Strict, WithJsonSchema

from httpbed.base.errors import RejectedValueError

QUANTITY = re.compile(r"\s*(?P<number>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>\S.*?)?\s*")
"""A number and an optional unit, before either is checked."""

_MAX_LETTERS = 60
_MAX_DIGITS = 30
"""Before or after the decimal point. A larger exponent would fill the memory when expanded."""

RATES: Mapping[str, int | Decimal] = {
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
SHARES: Mapping[str, int | Decimal] = {"%": Decimal("0.01")}
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
    """Split ``text`` into a number and one of ``units``.

    Raises:
        RejectedValueError: The number or the unit is missing, out of range, or unknown.
    """
    remedy = f"write it like {example!r}"
    if not isinstance(text, str):
        raise RejectedValueError(f"{text!r} is not a text with a number and a unit", remedy)
    if len(text) > _MAX_LETTERS:
        raise RejectedValueError(f"{text[:20]!r}... is too long for a quantity", remedy)
    match = QUANTITY.fullmatch(text)
    try:
        number = Decimal(match["number"]) if match else None
    except InvalidOperation:
        number = None
    if match is None or number is None:
        raise RejectedValueError(f"{text!r} is not a number with a unit", remedy)
    if match["unit"] not in units:
        named = f"unknown unit {match['unit']!r}" if match["unit"] else "the unit is missing"
        raise RejectedValueError(f"{named} in {text!r}", f"known: {', '.join(units)}")
    if abs(number.adjusted()) > _MAX_DIGITS:
        reason = f"{text!r} is out of range: it has more than {_MAX_DIGITS} digits"
        raise RejectedValueError(reason)
    return number, match["unit"]


def _scaled(
    text: object, units: Mapping[str, int | Decimal], example: str, least: str = "0"
) -> Decimal:
    number, unit = split(text, units, example)
    if number < 0:
        raise RejectedValueError(f"{text!r} is negative", f"use {least} or more")
    return number * Decimal(units[unit])


SLOWEST_BIT_S = 200
"""The rate of one packet of 1500 bytes per minute."""
FASTEST_BIT_S = 10**11


def parse_rate(text: object, *, example: str = "10 Mbit/s") -> int:
    """Return the bits per second of ``"10 Mbit/s"``: from 200 bit/s to 100 Gbit/s."""
    bit_s = int(_scaled(text, RATES, example, f"{SLOWEST_BIT_S} bit/s"))
    if bit_s < SLOWEST_BIT_S:
        reason = f"{text!r} is below {SLOWEST_BIT_S} bit/s, the rate of one packet per minute"
        raise RejectedValueError(reason)
    if bit_s > FASTEST_BIT_S:
        raise RejectedValueError(f"{text!r} is above 100 Gbit/s")
    return bit_s


def parse_duration(text: object, *, example: str = "25 ms") -> float:
    """Return the seconds of ``"25 ms"``."""
    return float(_scaled(text, DURATIONS, example))


def parse_signed_duration(text: object) -> float:
    """Return the seconds of ``"-2 ms"``, which may be negative."""
    number, unit = split(text, DURATIONS, "-2 ms")
    return float(number * Decimal(DURATIONS[unit]))


def parse_share(text: object, *, example: str = "4 %") -> float:
    """Return ``"4 %"`` as a fraction between 0 and 1."""
    share = _scaled(text, SHARES, example)
    if share > 1:
        raise RejectedValueError(f"{text!r} is above 100 %", "use 0 % to 100 %")
    return float(share)


def parse_size(text: object, *, example: str = "1 MB") -> int:
    """Return the bytes of ``"1 MB"`` (10^6) or ``"1 MiB"`` (2^20)."""
    size = _scaled(text, SIZES, example)
    if size != int(size):
        raise RejectedValueError(f"{text!r} is not a whole number of bytes")
    return int(size)


_Prefixes = tuple[tuple[float, str], ...]
RATE_PREFIXES: _Prefixes = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s"))
_SIZE_PREFIXES: _Prefixes = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
_DURATION_PREFIXES: _Prefixes = ((1, "s"), (1e-3, "ms"), (1e-6, "us"))
_LONG_DURATIONS: _Prefixes = ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s"))
_EXACT_DIGITS = 6
SHORT_DIGITS = 3
"""Significant digits of measured quantities; configured ones have six."""


def format_rate(bit_s: float, digits: int = _EXACT_DIGITS) -> str:
    """Write bits per second as ``10 Mbit/s``."""
    return _with_prefix(bit_s, RATE_PREFIXES, digits)


def format_size(size_bytes: float, digits: int = _EXACT_DIGITS) -> str:
    """Write bytes as ``1.5 MB``."""
    return _with_prefix(size_bytes, _SIZE_PREFIXES, digits)


def format_duration(seconds: float, digits: int = _EXACT_DIGITS) -> str:
    """Write seconds as ``25 ms``."""
    return _with_prefix(seconds, _DURATION_PREFIXES, digits)


def format_long_duration(seconds: float) -> str:
    """Write seconds as ``50 s``, ``12 min`` or ``3.5 h``: a unit from two of it on."""
    fitting = (pair for pair in _LONG_DURATIONS if seconds >= 2 * pair[0])
    length, unit = next(fitting, _LONG_DURATIONS[-1])
    decimals = 1 if unit in {"days", "h"} and seconds < 10 * length else 0
    return f"{seconds / length:.{decimals}f} {unit}"


def format_count(count: int, noun: str) -> str:
    """Write a number of things as ``1 trial`` or ``2 trials``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def format_share(share: float, decimals: int | None = None) -> str:
    """Write a fraction as ``4 %``, with so many decimals, or with four digits at most."""
    return f"{share * 100:.4g} %" if decimals is None else f"{share * 100:.{decimals}f} %"


def format_alike(text: object, value: float) -> str:
    """Write a value with a unit of the kind that a text has; as a number if it has none."""
    match = QUANTITY.fullmatch(text) if isinstance(text, str) else None
    for units, written in (
        (RATES, format_rate),
        (DURATIONS, format_duration),
        (SHARES, format_share),
        (SIZES, format_size),
    ):
        if match and match["unit"] in units:
            return written(value)
    return str(value)


def _with_prefix(value: float, prefixes: _Prefixes, digits: int) -> str:
    """Round first, then choose the prefix: 999,950 with three digits is a million."""
    rounded = float(f"{value:.{digits}g}")
    factor, unit = next((pair for pair in prefixes if abs(rounded) >= pair[0]), prefixes[-1])
    return f"{rounded / factor:.{digits}g} {unit}"


def at_most(most_s: float) -> AfterValidator:
    """Return a validator that rejects durations whose absolute value exceeds ``most_s`` seconds."""

    def check(seconds: float) -> float:
        if abs(seconds) > most_s:
            reason = f"{format_duration(seconds)} is longer than {format_duration(most_s)}"
            raise RejectedValueError(reason)
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


def _parse_count(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


Count = Annotated[int, Strict(), BeforeValidator(_parse_count)]
"""A whole number; also as a text, because the levels of factors are texts."""


# Quantities as users type them in a shell: ``10mbit``, ``50ms`` and ``4%``, as in ``tc``.
#
# They are rewritten to the experiment file's spelling and read by the same code. A unit that tools
# interpret differently (``10mbps`` is bytes to ``tc``) is rejected.


_TC_RATES = {
    f"{prefix}bit{per}": f"{prefix.upper() if prefix in 'mg' else prefix}bit/s"
    for prefix in ("", "k", "m", "g")
    for per in ("", "/s")
}
_TC_DURATIONS = {
    **dict.fromkeys(("us", "usec", "usecs"), "us"),
    **dict.fromkeys(("ms", "msec", "msecs"), "ms"),
    **dict.fromkeys(("s", "sec", "secs"), "s"),
    "min": "min",
    "h": "h",
}
_TC_SIZES = {"b": "B", "kib": "KiB", "mib": "MiB", "gib": "GiB"}
_TC_AMOUNTS = {**dict.fromkeys(("p", "packet", "packets"), "packets"), "bdp": "BDP"}

TC_UNITS: Mapping[str, Mapping[str, str]] = {
    "rate": _TC_RATES,
    "duration": _TC_DURATIONS,
    "share": {"%": "%"},
    "size": _TC_SIZES,
    "amount": {**_TC_AMOUNTS, **_TC_SIZES, **_TC_DURATIONS},
}
"""Units by kind of quantity, in lower case, with the experiment file's spelling."""


def from_tc(kind: str, text: str) -> str:
    """Return a quantity in the spelling of an experiment file; unknown text stays as it is."""
    match = QUANTITY.fullmatch(text)
    unit = TC_UNITS.get(kind, {}).get((match["unit"] or "").lower()) if match else None
    return f"{match['number']} {unit}" if match and unit else text
