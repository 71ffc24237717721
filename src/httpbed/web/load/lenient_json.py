"""What somebody else wrote as JSON, taken apart without trust: bounded, and never an error.

A value of another type than is asked for is as if it were not there. Text is cut to a length and
has no halves of surrogate pairs, which JSON can spell and no file can hold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from httpbed.host.sandbox import untrusted_files

MOST_TEXT = 8192
"""Characters."""
MOST_HEADERS = 200
MOST_NUMBER = 1e18
"""Nanoseconds of thirty years: beyond it is nothing that can be reckoned with."""
BROKEN = (ValueError, RecursionError)
"""What JSON raises that is none, or nested too deep."""

JsonObject = Mapping[str, Any]


def objects(file: Path) -> Iterator[JsonObject]:
    """Read a file with a JSON object per line; lines that are none are left out.

    Raises:
        FileNotFoundError: It is not there.
        UnreadableError: It is no regular file, or too long.
    """
    with untrusted_files.opened(file) as lines:
        for line in lines:
            try:
                found = json.loads(line)
            except BROKEN:
                continue
            if isinstance(found, dict):
                yield found


def part(said: JsonObject, name: str) -> JsonObject:
    """Return an object within an object; empty where there is none."""
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def parts(said: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects in a list within an object."""
    found = said.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def text(said: JsonObject, name: str, most: int = MOST_TEXT) -> str:
    """Return a text within an object, cut; empty where there is none."""
    found = said.get(name)
    return clean(found, most) if isinstance(found, str) else ""


def clean(found: str, most: int = MOST_TEXT) -> str:
    """Cut a text, and replace what is no character."""
    return found[:most].encode("utf-8", "replace").decode("utf-8")


def number(said: JsonObject, name: str) -> float | None:
    """Return a number within an object; None where there is none that is finite."""
    found = said.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    # Compared before it is converted: a whole number may be too large for a float.
    return float(found) if abs(found) <= MOST_NUMBER and not math.isnan(found) else None


def count(said: JsonObject, name: str) -> int:
    """Return a number of things; 0 where there is none, or less."""
    return max(0, int(number(said, name) or 0))


def headers(said: JsonObject, name: str) -> tuple[tuple[str, str], ...]:
    """Return header fields, in order; a field that came several times is several."""
    found = [
        (clean(field), clean(value))
        for field, values in part(said, name).items()
        for value in str(values)[: MOST_TEXT * 2].split("\n")
    ]
    return tuple(found[:MOST_HEADERS])
