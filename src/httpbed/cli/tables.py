"""Tidy tables, in the forms in which others read them.

Parquet and JSON hold the data as it is; JSON escapes what is not ASCII. CSV is opened in
spreadsheets and terminals, so its texts are changed where they could do harm: a character that
does not print becomes its escape, and a text that a spreadsheet would take for a formula begins
with an apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

import json
import re
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from httpbed.experiment.errors import visible

KINDS = ("csv", "parquet")
JSON = "json"

_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""What begins a formula; some spreadsheets take the full-width forms, too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write(table: pa.Table, file: IO[bytes], kind: str) -> None:
    """Write a table as ``csv`` or ``parquet``, or as ``json`` with an object on each line."""
    if kind == JSON:
        file.write("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode())
    elif kind == "csv":
        pa.csv.write_csv(_for_csv(table), file)
    else:
        pa.parquet.write_table(table, file)
    file.flush()


def cell(text: str) -> str:
    """Return a text as a cell of a CSV file: visible, and never a formula.

    A tab or a carriage return, after which a spreadsheet looks for a formula, too, is an escape
    by then. A text that is a number, such as the level ``-1``, needs no guard.
    """
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.fullmatch(shown) else shown


def _for_csv(table: pa.Table) -> pa.Table:
    """Return the table with every text as a cell, the names of its columns among them."""
    columns = [_guarded(column) for column in table.columns]
    return pa.table(columns, names=[cell(name) for name in table.column_names])


def _guarded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Guard a column of texts; each different text is looked at once."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    cells = {text: cell(text) for text in column.unique().to_pylist() if text is not None}
    if all(text == shown for text, shown in cells.items()):
        return column
    return pa.chunked_array([[cells.get(text) for text in column.to_pylist()]], type=pa.string())
