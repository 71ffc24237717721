"""Tables as CSV, Parquet or JSON lines, for other tools.

Parquet and JSON keep the data unchanged; JSON escapes what is not ASCII. Spreadsheets and terminals
open CSV, so harmful texts are changed: a non-printing character becomes its escape, and a text that
a spreadsheet would take for a formula gets a leading apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

import io
import json
import re
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from httpbed.base.errors import visible
from httpbed.base.user_file import Kind

JSON = "json"
FILES = {
    "csv": Kind("a CSV file that httpbed exported", re.compile(rb'"block","position",')),
    "parquet": Kind("a Parquet file", re.compile(rb"PAR1")),
    JSON: Kind("a file of JSON lines that httpbed exported", re.compile(rb'\{"block": ')),
}
"""What ``httpbed export`` writes, by kind."""
ROWS_AT_ONCE = 10_000
"""Rows that are Python objects at the same time, which take ten times their memory."""
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""First character of a formula; some spreadsheets accept the full-width forms, too."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write(table: pa.Table, file: IO[bytes], kind: str) -> None:
    """Write a table as ``csv`` or ``parquet``, or as ``json`` with an object on each line."""
    if kind == JSON:
        for part in table.to_batches(max_chunksize=ROWS_AT_ONCE):
            file.write("".join(f"{json.dumps(row)}\n" for row in part.to_pylist()).encode())
    elif kind == "csv":
        pa.csv.write_csv(_for_csv(table), file)
    else:
        # Arrow's own schema has the fields' descriptions. Without it, readers see texts where the
        # table has dictionaries of texts.
        is_plain = not any(map(pa.types.is_dictionary, table.schema.types))
        pa.parquet.write_table(table, file, store_schema=is_plain)
    file.flush()


def content(table: pa.Table, kind: str) -> bytes:
    """Return what :func:`write` writes."""
    file = io.BytesIO()
    write(table, file, kind)
    return file.getvalue()


def cell(text: str) -> str:
    """Return a text as a cell of a CSV file: visible, and never a formula.

    A spreadsheet also looks for a formula after a tab or a carriage return; these are escapes by
    then. A text that is a number, such as the level ``-1``, needs no apostrophe.
    """
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.fullmatch(shown) else shown


def _for_csv(table: pa.Table) -> pa.Table:
    """Return the table with every text, and every column's name, as a safe cell."""
    columns = [_safe(column) for column in table.columns]
    return pa.table(columns, names=[cell(name) for name in table.column_names])


def _safe(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with its texts as safe cells; each distinct text is converted once."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    cells = {text: cell(text) for text in column.unique().to_pylist() if text is not None}
    if all(text == shown for text, shown in cells.items()):
        return column
    return pa.chunked_array([[cells.get(text) for text in column.to_pylist()]], type=pa.string())
