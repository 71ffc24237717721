"""Reads untrusted JSON: every value is bounded, and nothing raises.

A value of the wrong type counts as missing. Text is cut to a length and has no lone surrogates,
which JSON can spell but no file can store.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from httpbed.base import untrusted_files
from httpbed.base.untrusted_files import BoundedParser, UnreadableError

MAX_TEXT = 8192
"""Characters."""
MAX_HEADERS = 200
MAX_NUMBER = 1e18
"""Larger numbers count as missing; as nanoseconds this is 30 years."""

JsonObject = Mapping[str, Any]


def objects(file: Path) -> Iterator[JsonObject]:
    """Yield the object of each line of a file; other lines are skipped.

    Raises:
        FileNotFoundError: The file is missing.
        UnreadableError: It is not a regular file, or exceeds a bound.
    """
    parser = BoundedParser()
    for line in untrusted_files.lines(file):
        try:
            value = parser.value(line)
        except UnreadableError:
            raise
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def part(data: JsonObject, name: str) -> JsonObject:
    """Return an object within an object; empty if missing."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def parts(data: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects of a list within an object."""
    value = data.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(data: JsonObject, name: str, most: int = MAX_TEXT) -> str:
    """Return a text within an object, cut to ``most`` characters; empty if missing."""
    value = data.get(name)
    return clean(value, most) if isinstance(value, str) else ""


def clean(value: str, most: int = MAX_TEXT) -> str:
    """Cut a text, and replace lone surrogates."""
    return value[:most].encode("utf-8", "replace").decode("utf-8")


def number(data: JsonObject, name: str) -> float | None:
    """Return a finite number within an object; None if missing."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # compare first: a large integer does not convert to float
    return float(value) if abs(value) <= MAX_NUMBER and not math.isnan(value) else None


def count(data: JsonObject, name: str) -> int:
    """Return a count within an object; 0 if missing or negative."""
    return max(0, int(number(data, name) or 0))


def headers(data: JsonObject, name: str) -> tuple[tuple[str, str], ...]:
    """Return header fields, in order; a field that came several times is several."""
    value = [
        (clean(field), clean(value))
        for field, values in part(data, name).items()
        for value in str(values)[: MAX_TEXT * 2].split("\n")
    ]
    return tuple(value[:MAX_HEADERS])
