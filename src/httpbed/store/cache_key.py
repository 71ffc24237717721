"""The user's key, under which tables of campaigns are cached for this user alone."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from httpbed.base import folders, untrusted_files

BYTES = 32
_PRIVATE = 0o600


def read() -> bytes:
    """Return the key; empty if there is none that only this user can write."""
    try:
        found = untrusted_files.data(_file(), most=BYTES)
    except (OSError, ValueError):
        return b""
    return found if len(found) == BYTES else b""


def made() -> bytes:
    """Return the key; make it if there is none.

    Raises:
        OSError: The user's folder is not writable.
    """
    if key := read():
        return key
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True)
    unnamed = file.with_name(f".{file.name}.{os.getpid()}")
    handle = os.open(unnamed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, _PRIVATE)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(BYTES))
        with suppress(FileExistsError):
            os.link(unnamed, file)  # the first of several processes makes it
    finally:
        unnamed.unlink(missing_ok=True)
    return read()


def _file() -> Path:
    return folders.state() / "tables.key"
