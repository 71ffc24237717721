"""Where httpbed keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Return ``$HTTPBED_CACHE``, else httpbed's folder in the user's cache; it may not exist."""
    if own := os.environ.get("HTTPBED_CACHE"):
        return Path(own).absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).absolute() / "httpbed"
    return Path.home() / ".cache" / "httpbed"
