"""JSON records that are replaced atomically."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write(target: Path, record: Mapping[str, Any]) -> Path:
    """Replace a record's file atomically, durably, and return its path."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
        file.write(json.dumps(record, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(target)
    return target
