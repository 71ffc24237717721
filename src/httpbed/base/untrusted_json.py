"""Parses JSON that programs under test wrote, with bounds that hold before it is parsed.

Two bytes of JSON may become a hundred of memory: 63 MB of ``{}`` took 5 GB. So values are counted
in the text first. Numbers are finite, as RFC 8259 demands. Of a key that comes twice, the last
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from httpbed.base import untrusted_files
from httpbed.base.untrusted_files import UnreadableError

MAX_VALUES = 2**22
"""In a document, or in all lines of a file; as objects, they take some 300 MB."""
_MARKS = ("{", "[", ",", ":")
_MARK = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{\[,:]', re.DOTALL)
"""A mark, or a text, in which marks do not count."""


class BoundedParser:
    """Parses texts, with one bound for all of them together."""

    def __init__(self, most: int = MAX_VALUES) -> None:
        self._left = most

    def value(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            ValueError: It is no JSON, has too many values or digits, or is nested too deeply.
        """
        self._left -= _marks(text, self._left) + 1
        if self._left < 0:
            raise UnreadableError("the JSON", "has too many values")
        try:
            return json.loads(text, parse_constant=_refuse)
        except RecursionError:
            raise UnreadableError("the JSON", "is nested too deeply") from None


def value(text: str, most: int = MAX_VALUES) -> Any:
    """Return the value of a text; raises as :meth:`BoundedParser.value`."""
    return BoundedParser(most).value(text)


def values(file: Path, *, errors: str = "replace") -> Iterator[Any]:
    """Yield the value of each line of a file.

    Raises:
        FileNotFoundError: It does not exist.
        ValueError: A line is no JSON, or the file exceeds a bound.
    """
    return map(BoundedParser().value, untrusted_files.lines(file, errors=errors))


def _marks(text: str, most: int) -> int:
    """Count what separates values; stop soon after ``most``."""
    if (marks := sum(map(text.count, _MARKS))) <= most:
        return marks
    marks = 0
    for found in _MARK.finditer(text):
        marks += text[found.start()] != '"'
        if marks > most:
            break
    return marks


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
