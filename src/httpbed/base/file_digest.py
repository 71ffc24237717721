"""The SHA-256 of a file that httpbed made or checked before; not of what a program under test left.

Such files may be links or pipes: :mod:`httpbed.base.digests` reads them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
