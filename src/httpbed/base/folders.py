"""httpbed's own folders: what it can make again, what it learned about this machine, and keys.

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """Return the folder of what can be made again: ``$HTTPBED_CACHE``, else the user's cache.

    The folder may not exist yet.
    """
    if own := os.environ.get("HTTPBED_CACHE"):
        return Path(own).absolute()
    return _below("XDG_CACHE_HOME", ".cache")


def state() -> Path:
    """Return the folder of certificates and records, which cost a measurement to make again.

    The folder may not exist yet.
    """
    return _below("XDG_STATE_HOME", ".local/state")


def config() -> Path:
    """Return the folder of what the user decided, and what only the user may read.

    The folder may not exist yet.
    """
    return _below("XDG_CONFIG_HOME", ".config")


def _below(variable: str, default: str) -> Path:
    """Return httpbed's folder in an XDG base directory."""
    base = os.environ.get(variable)
    return (Path(base).absolute() if base else Path.home() / default) / "httpbed"
