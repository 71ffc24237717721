"""Reads a Parquet file of unknown origin within bounds.

A file of 2 MB can hold a billion rows, or one text a million times. So rows, columns, kinds of
columns, encodings and the decompressed size of all pages are compared with bounds before any value
is read, and texts are read as dictionaries, batch by batch: the length of the decoded texts is
known, and counted, before they are decoded.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MAX_ROWS = 50_000_000
MAX_COLUMNS = 300
MAX_BYTES = 2**31
"""Bound of a table in memory, and of a file's decompressed pages; 10,000 page loads take a half."""
MAX_PAGE_BYTES = 2**26
"""Bound of a decompressed page; Arrow writes pages of 1 MB."""
MAX_FOOTER_BYTES = 2**21
BATCH_ROWS = 2**20
_TAIL = 8
"""The last bytes: the footer's length, and ``PAR1``."""
_TEXTS = pa.dictionary(pa.int32(), pa.string())
_KINDS = (pa.int32(), pa.float64(), pa.bool_(), pa.string(), _TEXTS)
_ENCODINGS = frozenset({0, 2, 3, 8, 9})
"""PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY, BYTE_STREAM_SPLIT: others decode to any size."""


class OversizeError(ValueError):
    """A file exceeds a bound, or is not as httpbed writes it; the message continues its name."""


def read(content: bytes) -> pa.Table:
    """Read a file.

    Raises:
        OversizeError: It exceeds a bound, or is not as httpbed writes it.
        pa.ArrowException: It is damaged.
    """
    _require_small_footer(content)
    texts = _checked(content)
    file = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts)
    taken, batches = 0, list[pa.RecordBatch]()
    for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
        taken += sum(map(_decoded_bytes, batch.columns))
        if taken > MAX_BYTES:
            raise OversizeError(f"takes more than {MAX_BYTES / 1e9:.1f} GB of memory")
        batches.append(_decoded(batch))
    schema = pa.schema([(one.name, _plain(one.type)) for one in file.schema_arrow])
    return pa.Table.from_batches(batches, schema)


def _require_small_footer(content: bytes) -> None:
    tail = content[-_TAIL:]
    length = int.from_bytes(tail[:4], "little")
    if len(tail) < _TAIL or tail[4:] != b"PAR1" or length > len(content):
        raise OversizeError("is no Parquet file")
    if length > MAX_FOOTER_BYTES:
        raise OversizeError(f"has a footer of more than {MAX_FOOTER_BYTES / 1e6:.0f} MB")


def _checked(content: bytes) -> list[str]:
    """Compare footer and headers with the bounds; return the names of the columns of texts."""
    try:
        about = pq.read_metadata(io.BytesIO(content))
        schema = about.schema.to_arrow_schema()
    except UnicodeDecodeError:
        raise OversizeError("has a column whose name is no text") from None
    if about.num_rows > MAX_ROWS or about.num_columns > MAX_COLUMNS:
        raise OversizeError(
            f"has {about.num_rows} rows and {about.num_columns} columns;"
            f" the limits are {MAX_ROWS} and {MAX_COLUMNS}"
        )
    if strange := [column.name for column in schema if column.type not in _KINDS]:
        raise OversizeError(f"has a column of a kind that no table has: {strange[0]!r}")
    if len(set(schema.names)) != len(schema) or len(schema) != about.num_columns:
        raise OversizeError("has two columns of one name, or a nested column")
    _require_bounded_pages(content, about)
    _require_memory(sum(about.num_rows * _width(column.type) for column in schema))
    return [column.name for column in schema if column.type in {pa.string(), _TEXTS}]


def _require_bounded_pages(content: bytes, about: pq.FileMetaData) -> None:
    decompressed, rows = 0, [0] * about.num_columns
    for chunk in _chunks(content):
        values = 0
        for page in _pages(content, chunk):
            values += page.values * (page.kind != DICTIONARY)
            decompressed += page.decompressed
        if values != chunk.rows or chunk.column >= len(rows):
            raise OversizeError("has a column of more or fewer values than rows")
        rows[chunk.column] += values
        _require_memory(decompressed)
    if {*rows} - {about.num_rows}:
        raise OversizeError("has other rows than its footer says")


def _chunks(content: bytes) -> list[Chunk]:
    length = int.from_bytes(content[-_TAIL:][:4], "little")
    try:
        return chunks(content[-_TAIL - length : -_TAIL])
    except PageError as error:
        raise OversizeError(f"is not as httpbed writes it: {error}") from None


def _pages(content: bytes, chunk: Chunk) -> list[PageHeader]:
    """Return the headers of the pages of a column chunk, each within the bounds."""
    try:
        page_headers = [*headers(content, chunk.start, chunk.length)]
    except PageError as error:
        raise OversizeError(f"is not as httpbed writes it: {error}") from None
    for page in page_headers:
        if page.decompressed > MAX_PAGE_BYTES or page.encoding not in _ENCODINGS:
            reason = f"has a page of {page.decompressed} bytes in the encoding {page.encoding}"
            raise OversizeError(reason)
    return page_headers


def _require_memory(needed: int) -> None:
    if needed > MAX_BYTES:
        reason = f"needs {needed / 1e9:.1f} GB of memory; the limit is {MAX_BYTES / 1e9:.1f} GB"
        raise OversizeError(reason)


def _width(kind: pa.DataType) -> int:
    """Return the bytes that a value takes at least."""
    return 8 if kind == pa.float64() else 4


def _decoded_bytes(column: pa.Array) -> int:
    """Return how many bytes a column takes as plain values."""
    if not isinstance(column, pa.DictionaryArray):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0) + 4 * len(column)


def _decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.string() if kind == _TEXTS else kind


# The columns and pages of a Parquet file, from footer and headers: nothing is decompressed.

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
    column_chunks = list[Chunk]()
    for group in _listed(_Reader(footer).structure(), 4):
        rows = _number(group, 3)
        for place, column in enumerate(_listed(group, 1) if rows else ()):
            about = column.get(3)
            if 1 in column or not isinstance(about, dict):
                raise PageError("a column lies in another file")
            starts = [_number(about, one) for one in (11, 9) if one in about]
            length = _number(about, 7)
            column_chunks.append(Chunk(place, rows, min(filter(None, starts), default=-1), length))
    return column_chunks


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
        fields = header.get(about)
        if not isinstance(fields, dict):
            raise PageError("a page is of a kind that httpbed does not write")
        sizes = _number(header, 2), _number(header, 3)
        yield PageHeader(kind, _number(fields, 1), _number(fields, encoding), sizes[0])
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
        fields, number = dict[int, Any](), 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            fields[number] = self._value(head & 15, depth)
        return fields

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
