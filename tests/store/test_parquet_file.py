"""Parquet files of unknown origin: checked before a value is read."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some

from httpbed.store import parquet_file, table_cache
from httpbed.store.parquet_file import OversizeError

RESULTS = Path(__file__).parents[2] / "results"


def written(table: pa.Table, **options: object) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content, **options)
    return content.getvalue()


def texts(count: int, length: int) -> pa.Table:
    same = pa.array([0] * count, pa.int32())
    return pa.table({"a": pa.DictionaryArray.from_arrays(same, pa.array(["x" * length]))})


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", sorted(RESULTS.glob("*/*/*.parquet")), ids=lambda one: str(one.relative_to(RESULTS))
)
def test_published_tables_are_read_as_arrow_reads_them(file: Path) -> None:
    """Values and kinds of columns."""
    read, whole = parquet_file.read(file.read_bytes()), pq.read_table(file)
    assert read.equals(whole)
    assert read.schema.equals(whole.schema)


@given(
    some.lists(
        some.tuples(
            some.one_of(some.none(), some.text(max_size=5)),
            some.one_of(some.none(), some.floats(allow_nan=False)),
            some.one_of(some.none(), some.booleans()),
        ),
        max_size=40,
    )
)
def test_what_httpbed_writes_is_read(rows: list[tuple[object, ...]]) -> None:
    """Missing values included."""
    kinds = (pa.string(), pa.float64(), pa.bool_())
    columns = [*zip(*rows, strict=True)] or [(), (), ()]
    arrays = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
    table = pa.table(dict(zip("abc", arrays, strict=True)))
    assert parquet_file.read(table_cache._parquet(table)).equals(table)


BOMBS: dict[str, Callable[[], bytes]] = {
    "long texts": lambda: written(texts(5000, 1_000_000), compression="zstd", store_schema=False),
    "one huge page": lambda: written(
        pa.table({"a": ["\0" * 2**27]}), compression="zstd", use_dictionary=False
    ),
    "prefixes": lambda: written(
        pa.table({"a": ["x" * 1000] * 100}),
        use_dictionary=False,
        column_encoding={"a": "DELTA_BYTE_ARRAY"},
    ),
    "many columns": lambda: written(pa.table({f"a{n}": [1] for n in range(301)})),
    "a nested column": lambda: written(pa.table({"a": [[1, 2]]})),
    "another kind": lambda: written(pa.table({"a": pa.array([1], pa.uint64())})),
    "no file": lambda: b"PAR1",
    "a footer beyond the file": lambda: b"PAR1" + b"\xff" * 4 + b"PAR1",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused(bomb: str) -> None:
    """Before its values are in memory."""
    content = BOMBS[bomb]()
    before = pa.total_allocated_bytes()
    with pytest.raises(OversizeError):
        parquet_file.read(content)
    assert pa.total_allocated_bytes() - before < 2**20


def test_more_rows_than_any_table_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal values take no room in the file."""
    content = written(pa.table({"a": pa.array([1] * 1001, pa.int32())}))
    monkeypatch.setattr(parquet_file, "MAX_ROWS", 1000)
    with pytest.raises(OversizeError, match="1001 rows"):
        parquet_file.read(content)


def test_a_footer_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers of the pages count: they say what a reader allocates."""
    content = written(pa.table({"a": pa.array(range(10_000), pa.int32())}), use_dictionary=False)
    monkeypatch.setattr(parquet_file, "MAX_BYTES", 39_000)
    with pytest.raises(OversizeError, match="memory"):
        parquet_file.read(content)


@given(some.integers(0, 10_000), some.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(place: int, byte: int) -> None:
    """Nothing else is raised."""
    content = bytearray(written(texts(50, 5), compression="zstd"))
    content[place % len(content)] = byte
    try:
        parquet_file.read(bytes(content))
    except (OversizeError, OSError, pa.ArrowException):
        return
