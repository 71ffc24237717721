"""Where httpbed keeps what it found out about this machine and cannot make again at will."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Return httpbed's folder in the user's state (XDG base directories); it may not exist."""
    if shared := os.environ.get("XDG_STATE_HOME"):
        return Path(shared).absolute() / "httpbed"
    return Path.home() / ".local" / "state" / "httpbed"
