"""The tables of a campaign as Parquet files, and ``tables.json``, which vouches for them.

``tables.json`` has the digest of each Parquet file and of the columns that they must have. Tables
that were edited, torn or made for other columns count as missing. Published results have only these
files, and no attempts.

Where attempts exist, tables are a cache, and a reader believes only a cache that the same user
wrote: whoever else edits tables can compute all digests again. So ``tables.json`` has a code
(HMAC, RFC 2104) under a key that lies in the user's own folder, and other tables are made again.
The user's own programs can read the key: ``httpbed verify`` compares the tables with the attempts.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from httpbed.base import digests, disk, folders, untrusted_files
from httpbed.store import layout, parquet_file
from httpbed.store.layout import INDEX, Damage

SCHEMA = 2
LEVEL = 15
"""Of compression: published tables are 4 % smaller than at 9; the largest takes 0.5 s longer."""
CODE = "made_by_this_user"
"""The member of ``tables.json`` with its code under the user's key."""


@dataclass(frozen=True)
class StoredTables:
    """Tables with what they were made from."""

    tables: Mapping[str, pa.Table]
    damaged: tuple[Damage, ...]
    made_from: Mapping[str, str]
    """Digests of what the tables were made from, by name."""


class UnreadableTablesError(ValueError):
    """Tables are missing, or not as they were written; the message says which and why."""


def read(real: Path, names: Iterable[str]) -> StoredTables:
    """Read some tables.

    Raises:
        UnreadableTablesError: One of them is missing, not as it was written, or too large.
    """
    index = _index(real)
    try:
        digest_of, made_from = index["tables"], index["made_from"]
        damaged = tuple(Damage(str(place), tuple(map(str, why))) for place, why in index["damaged"])
        tables = {name: _table(layout.table(real, name), digest_of[name]) for name in names}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, UnreadableTablesError):
            raise
        raise UnreadableTablesError(f"{INDEX} has another form than httpbed writes") from None
    return StoredTables(tables, damaged, made_from if isinstance(made_from, dict) else {})


def read_own(real: Path, names: Iterable[str]) -> StoredTables | None:
    """Read some tables that this user wrote; None if there are no such tables."""
    try:
        return read(real, names) if _is_own(_index(real)) else None
    except UnreadableTablesError:
        return None


def _index(real: Path) -> dict[str, Any]:
    try:
        return digests.unsealed(untrusted_files.data(real / INDEX))
    except FileNotFoundError:
        raise UnreadableTablesError(f"{INDEX} is missing") from None
    except (OSError, ValueError) as error:
        raise UnreadableTablesError(f"{INDEX}: {error}") from None


def _table(file: Path, sha256: str) -> pa.Table:
    try:
        content = untrusted_files.own_data(file)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise UnreadableTablesError(f"{file.name} differs from its digest in {INDEX}")
        return parquet_file.read(content)
    except FileNotFoundError:
        raise UnreadableTablesError(f"{file.name} is missing") from None
    except (untrusted_files.UnreadableError, parquet_file.OversizeError) as error:
        raise UnreadableTablesError(f"{file.name}: {error}") from None
    except (OSError, MemoryError, pa.ArrowException) as error:
        raise UnreadableTablesError(f"{file.name}: {type(error).__name__}") from None


def _code(index: Mapping[str, Any], key: bytes) -> str:
    """Return the code of an index under a user's key."""
    text = json.dumps({**index, CODE: ""}, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _is_own(index: Mapping[str, Any]) -> bool:
    key, code = read_key(), index.get(CODE)
    return bool(key) and isinstance(code, str) and hmac.compare_digest(_code(index, key), code)


def write_own(directory: Path, stored: StoredTables) -> None:
    """Replace the tables of a campaign with attempts, for this user; needs the user's own folder.

    Raises:
        OSError: The campaign's folder, or the user's own, is not writable.
    """
    write(directory, stored, ensure_key())


def write(directory: Path, stored: StoredTables, key: bytes = b"") -> None:
    """Replace the tables, then the index that vouches for them.

    Raises:
        OSError: The campaign's folder is not writable.
    """
    written = {name: _parquet(table) for name, table in stored.tables.items()}
    index = {
        "schema": SCHEMA,
        "made_from": dict(stored.made_from),
        "tables": {name: hashlib.sha256(one).hexdigest() for name, one in written.items()},
        "damaged": [[damage.place, [*damage.reasons]] for damage in stored.damaged],
    }
    index |= {CODE: _code(index, key)} if key else {}
    for name, content in written.items():
        _replace(layout.table(directory, name), content)
    _replace(directory / INDEX, digests.sealed(index))


def _parquet(table: pa.Table) -> bytes:
    # Measured values rarely repeat: a dictionary of them would be as long as they are.
    texts = [one.name for one in table.schema if not pa.types.is_floating(one.type)]
    content = io.BytesIO()
    pq.write_table(
        table,
        content,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=texts,
    )
    return content.getvalue()


def _replace(file: Path, content: bytes) -> None:
    unnamed = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        disk.write(unnamed, content)
        unnamed.replace(file)
    finally:
        with suppress(OSError):
            unnamed.unlink(missing_ok=True)


# The user's key, under which tables of campaigns are cached for this user alone.


KEY_BYTES = 32
_PRIVATE = 0o600


def read_key() -> bytes:
    """Return the key; empty if there is none that only this user can write."""
    try:
        found = untrusted_files.data(_key_file(), most=KEY_BYTES)
    except (OSError, ValueError):
        return b""
    return found if len(found) == KEY_BYTES else b""


def ensure_key() -> bytes:
    """Return the key; make it if there is none.

    Raises:
        OSError: The user's folder is not writable.
    """
    if key := read_key():
        return key
    file = _key_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    unnamed = file.with_name(f".{file.name}.{os.getpid()}")
    handle = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _PRIVATE)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(unnamed, file)  # the first of several processes makes it
    finally:
        unnamed.unlink(missing_ok=True)
    return read_key()


def _key_file() -> Path:
    return folders.state() / "tables.key"
