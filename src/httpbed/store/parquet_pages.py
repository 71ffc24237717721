"""The columns and pages of a Parquet file, from footer and headers: nothing is decompressed.

A reader of Parquet believes the header of each page: it allocates the stated size before it
decompresses, and some encodings make gigabytes of a kilobyte. The figures in a file's footer need
not agree with its pages, so both are read before any value is. Arrow's own view of a column in the
footer ends the process for some statistics (pyarrow 26), so it is not used.

Footer and headers are Thrift structures in the compact protocol; the numbers of their fields are
those of ``parquet.thrift`` (apache/parquet-format).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_STRUCT, _LIST, _DOUBLE, _BINARY, _TRUE, _FALSE = 12, 9, 7, 8, 1, 2
_LONG_LIST = 15
_INTEGERS = (3, 4, 5, 6)
_DEEPEST = 8
_LONGEST_VARINT = 10
_LONGEST_HEADER = 2**16
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
_OF_KIND = {DATA: (5, 2), DICTIONARY: (7, 2), DATA_V2: (8, 4)}
"""By kind of page: the field with what is particular to it, and therein that of the encoding."""


class PageError(ValueError):
    """The bytes are no footer or pages as httpbed writes them."""


class Chunk(NamedTuple):
    """The part of a column in one group of rows."""

    column: int
    rows: int
    start: int
    length: int
    """In the file, in bytes."""


def chunks(footer: bytes) -> list[Chunk]:
    """Return the parts of all columns, without those of groups that have no rows.

    Raises:
        PageError: The footer is none as httpbed writes it.
    """
    found = list[Chunk]()
    for group in _listed(_Reader(footer).structure(), 4):
        rows = _number(group, 3)
        for place, column in enumerate(_listed(group, 1) if rows else ()):
            about = column.get(3)
            if 1 in column or not isinstance(about, dict):
                raise PageError("a column lies in another file")
            starts = [_number(about, one) for one in (11, 9) if one in about]
            length = _number(about, 7)
            found.append(Chunk(place, rows, min(filter(None, starts), default=-1), length))
    return found


def _listed(of: Mapping[int, Any], number: int) -> list[dict[int, Any]]:
    found = of.get(number, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise PageError("the footer is none as httpbed writes it")
    return found


def _number(of: Mapping[int, Any], number: int) -> int:
    found = of.get(number)
    if not isinstance(found, int) or found < 0:
        raise PageError("the footer is none as httpbed writes it")
    return found


class PageHeader(NamedTuple):
    """What the header of a page says."""

    kind: int
    values: int
    encoding: int
    decompressed: int
    """Bytes."""


def headers(content: bytes, start: int, length: int) -> Iterator[PageHeader]:
    """Yield the headers of the pages of a column chunk.

    Raises:
        PageError: It has a page that no file of httpbed has, or ends within one.
    """
    end = start + length
    if not 0 <= start <= end <= len(content):
        raise PageError("a column lies outside of the file")
    while start < end:
        reader = _Reader(content[start : min(end, start + _LONGEST_HEADER)])
        header = reader.structure()
        kind = _number(header, 1)
        about, encoding = _OF_KIND.get(kind, (0, 0))
        own = header.get(about)
        if not isinstance(own, dict):
            raise PageError("a page is of a kind that httpbed does not write")
        sizes = _number(header, 2), _number(header, 3)
        yield PageHeader(kind, _number(own, 1), _number(own, encoding), sizes[0])
        start += reader.place + sizes[1]
    if start != end:
        raise PageError("a page ends outside of its column")


class _Reader:
    """Reads structures of Thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """Read a structure: its fields by their numbers."""
        if depth > _DEEPEST:
            raise PageError("a header is nested too deeply")
        found, number = dict[int, Any](), 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in {_TRUE, _FALSE}:
            return None
        if kind in _INTEGERS:
            return self._byte() if kind == _INTEGERS[0] else self._integer()
        if kind in {_DOUBLE, _BINARY}:
            length = 8 if kind == _DOUBLE else self._varint()
            self.place += length
            return None
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind == _LIST:
            return self._list(depth + 1)
        raise PageError("a header has a set or a map")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = self._varint() if head >> 4 == _LONG_LIST else head >> 4
        if count > len(self._content) - self.place:  # each takes a byte at least
            raise PageError("a header has no end")
        kind = head & 15
        if kind in {_TRUE, _FALSE}:
            self.place += count
            return []
        return [self._value(kind, depth) for _ in range(count)]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for place in range(_LONGEST_VARINT):
            one = self._byte()
            number |= (one & 127) << (7 * place)
            if one < 128:  # the highest bit says that more bytes follow
                return number
        raise PageError("a header has a number of too many digits")

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise PageError("a header has no end")
        self.place += 1
        return self._content[self.place - 1]
