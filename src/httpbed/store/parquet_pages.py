"""The pages of a Parquet file, from their headers alone: nothing is decompressed.

A reader of Parquet believes the header of each page: it allocates the stated size before it
decompresses, and some encodings make gigabytes of a kilobyte. The figures in a file's footer need
not agree with its pages, so both are read before any value is.

A header is a Thrift structure in the compact protocol; the numbers of its fields are those of
``parquet.thrift`` (apache/parquet-format).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_STRUCT, _DOUBLE, _BINARY, _TRUE, _FALSE = 12, 7, 8, 1, 2
_INTEGERS = (3, 4, 5, 6)
_DEEPEST = 8
_LONGEST_VARINT = 10
_LONGEST_HEADER = 2**16
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
_OF_KIND = {DATA: (5, 2), DICTIONARY: (7, 2), DATA_V2: (8, 4)}
"""By kind of page: the field with what is particular to it, and therein that of the encoding."""


class PageError(ValueError):
    """The bytes are no pages as httpbed writes them."""


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
        kind, decompressed, compressed = (header.get(number, -1) for number in (1, 2, 3))
        about, encoding = _OF_KIND.get(kind, (0, 0))
        own = header.get(about)
        numbers = [decompressed, compressed, *(map(own.get, (1, encoding)) if own else [None])]
        if not all(isinstance(one, int) and one >= 0 for one in numbers):
            raise PageError("a page has no header as httpbed writes it")
        yield PageHeader(kind, own[1], own[encoding], decompressed)
        start += reader.place + compressed
    if start != end:
        raise PageError("a page ends outside of its column")


class _Reader:
    """Reads structures of Thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """Read a structure: its fields by their numbers."""
        if depth > _DEEPEST:
            raise PageError("a page's header is nested too deeply")
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
        raise PageError("a page's header has a list, a set or a map")

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for place in range(_LONGEST_VARINT):
            one = self._byte()
            number |= (one & 127) << (7 * place)
            if one < 128:  # noqa: PLR2004 - the highest bit says that more bytes follow
                return number
        raise PageError("a page's header has a number of too many digits")

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise PageError("a page's header has no end")
        self.place += 1
        return self._content[self.place - 1]
