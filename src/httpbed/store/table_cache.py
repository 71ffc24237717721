"""The tables of a campaign as Parquet files, and ``tables.json``, which vouches for them.

``tables.json`` has the digest of each Parquet file and of the columns that they must have. Tables
that were edited, torn or made for other columns count as missing. Published results have only these
files, and no attempts.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from httpbed.host.sandbox import untrusted_files
from httpbed.store import digests, durable_files, layout
from httpbed.store.damage import Damage
from httpbed.store.layout import INDEX

SCHEMA = 2


@dataclass(frozen=True)
class StoredTables:
    """Tables with what they were made from."""

    tables: Mapping[str, pa.Table]
    damaged: tuple[Damage, ...]
    """Attempts that are in no table."""
    made_from: Mapping[str, str]
    """Digests of what the tables were made from, by name."""


def read(real: Path, names: Iterable[str]) -> StoredTables | None:
    """Read some tables; None if one of them is missing or not as it was written."""
    try:
        index = digests.unsealed(untrusted_files.data(real / INDEX))
        found = {name: _table(layout.table(real, name), index["tables"][name]) for name in names}
        damaged = tuple(Damage(place, tuple(reasons)) for place, reasons in index["damaged"])
        made_from = index["made_from"]
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None
    return StoredTables(found, damaged, made_from if isinstance(made_from, dict) else {})


def _table(file: Path, sha256: str) -> pa.Table:
    content = untrusted_files.data(file, most=untrusted_files.OWN_BYTES)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError("was edited")
    return pq.read_table(pa.BufferReader(content))


def write(directory: Path, stored: StoredTables) -> None:
    """Replace the tables, then the index that vouches for them.

    Raises:
        OSError: The campaign's folder is not writable.
    """
    written = {name: _parquet(table) for name, table in stored.tables.items()}
    index = {
        "schema": SCHEMA,
        "made_from": dict(stored.made_from),
        "tables": {name: hashlib.sha256(one).hexdigest() for name, one in written.items()},
        "damaged": [[one.place, one.reasons] for one in stored.damaged],
    }
    for name, content in written.items():
        _replace(layout.table(directory, name), content)
    _replace(directory / INDEX, digests.sealed(index))


def _parquet(table: pa.Table) -> bytes:
    # Measured values rarely repeat: a dictionary of them would be as long as they are.
    values = [one.name for one in table.schema if pa.types.is_floating(one.type)]
    texts = [name for name in table.column_names if name not in values]
    content = io.BytesIO()
    pq.write_table(
        table, content, compression="zstd", use_dictionary=texts, use_byte_stream_split=values
    )
    return content.getvalue()


def _replace(file: Path, content: bytes) -> None:
    unnamed = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        durable_files.write(unnamed, content)
        unnamed.replace(file)
    finally:
        with suppress(OSError):
            unnamed.unlink(missing_ok=True)
