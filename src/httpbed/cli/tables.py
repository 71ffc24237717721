"""Tidy tables, in the forms in which others read them."""

from __future__ import annotations

import json
from typing import IO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

KINDS = ("csv", "parquet")
JSON = "json"


def write(table: pa.Table, file: IO[bytes], kind: str) -> None:
    """Write a table as ``csv`` or ``parquet``, or as ``json`` with an object on each line."""
    if kind == JSON:
        file.write("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()).encode())
    elif kind == "csv":
        pa.csv.write_csv(table, file)
    else:
        pa.parquet.write_table(table, file)
    file.flush()
