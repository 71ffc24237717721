"""Quantities as users type them in a shell: ``10mbit``, ``50ms`` and ``4%``, as in ``tc``.

They are rewritten to the experiment file's spelling and read by the same code. A unit that tools
interpret differently (``10mbps`` is bytes to ``tc``) is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping

from httpbed.base.units import QUANTITY

_RATES = {
    f"{prefix}bit{per}": f"{prefix.upper() if prefix in 'mg' else prefix}bit/s"
    for prefix in ("", "k", "m", "g")
    for per in ("", "/s")
}
_DURATIONS = {
    **dict.fromkeys(("us", "usec", "usecs"), "us"),
    **dict.fromkeys(("ms", "msec", "msecs"), "ms"),
    **dict.fromkeys(("s", "sec", "secs"), "s"),
    "min": "min",
    "h": "h",
}
_SIZES = {"b": "B", "kib": "KiB", "mib": "MiB", "gib": "GiB"}
_AMOUNTS = {**dict.fromkeys(("p", "packet", "packets"), "packets"), "bdp": "BDP"}

KNOWN: Mapping[str, Mapping[str, str]] = {
    "rate": _RATES,
    "duration": _DURATIONS,
    "share": {"%": "%"},
    "size": _SIZES,
    "amount": {**_AMOUNTS, **_SIZES, **_DURATIONS},
}
"""Units by kind of quantity, in lower case, with the experiment file's spelling."""


def spelled(kind: str, text: str) -> str:
    """Return a quantity in the spelling of an experiment file; unknown text stays as it is."""
    match = QUANTITY.fullmatch(text)
    unit = KNOWN.get(kind, {}).get((match["unit"] or "").lower()) if match else None
    return f"{match['number']} {unit}" if match and unit else text
