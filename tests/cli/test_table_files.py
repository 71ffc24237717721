"""Tables for other programs: CSV without formulas, unchanged Parquet and JSON."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from httpbed.cli import table_files

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "=", "\uff1d1+1", "-1 ms")
HOSTILE = pa.table(
    {
        "item": pa.array([*FORMULAS, "\t=1", "\r=1", "\n=1", "a\x1b[31m\u202e", None]),
        "=level": pa.array(["@x"] * 12).dictionary_encode(),
        "value": pa.array([-1.5] * 12),
        "count": pa.array([-2] * 12),
    }
)


def written(table: pa.Table, kind: str) -> bytes:
    file = io.BytesIO()
    table_files.write(table, file, kind)
    return file.getvalue()


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    """Texts and column names are safe, and no character moves a terminal's cursor."""
    text = written(HOSTILE, "csv").decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["item", "'=level", "value", "count"]
    assert [row[0] for row in rows[1:8]] == [f"'{formula}" for formula in FORMULAS]
    assert [row[0] for row in rows[8:]] == [
        r"\t=1",
        r"\r=1",
        r"\n=1",
        r"a\x1b[31m\u202e",
        "",
    ]
    assert {row[1] for row in rows[1:]} == {"'@x"}
    assert all(one.isprintable() for one in text.replace("\n", ""))


def test_numbers_of_a_csv_file_stay_numbers() -> None:
    """A negative number is no formula, in a column of numbers or as the text of a level."""
    rows = list(csv.reader(io.StringIO(written(HOSTILE, "csv").decode())))
    assert {(row[2], row[3]) for row in rows[1:]} == {("-1.5", "-2")}
    for number in ("-1", "+2", "-.5", "-1e-3", "1.", "-1.5E+10"):
        assert table_files.cell(number) == number
    for text in ("-", "+", "-1-1", "-1e", "- 1"):
        assert table_files.cell(text) == f"'{text}"
    for text in ("", "a=b", "10 Mbit/s", "https://a.test/?q=-1", "'=1"):
        assert table_files.cell(text) == text


def test_parquet_and_json_keep_the_data_unchanged() -> None:
    """Only programs read them; JSON is ASCII."""
    assert pq.read_table(io.BytesIO(written(HOSTILE, "parquet"))).to_pylist() == HOSTILE.to_pylist()
    lines = written(HOSTILE, "json")
    assert [json.loads(line) for line in lines.splitlines()] == HOSTILE.to_pylist()
    assert lines.replace(b"\n", b"").decode("ascii").isprintable()
