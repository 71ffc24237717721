"""Records of how many page loads this machine carries side by side: one file per browser."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.host import state

SCHEMA = 1
TIMES = "page_load_time"
METRICS = ("speed_index", TIMES)
"""What is told of apart: pictures of a page are disturbed sooner than its times."""
MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""What must be the same for a record to hold."""


def path(browser: str) -> Path:
    """Return where a browser's record is, or would be."""
    return state.folder() / "capacity" / f"{browser}.json"


def write(browser: str, record: Mapping[str, Any]) -> Path:
    """Keep a record, whole or not at all, and return its path."""
    target = path(browser)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, **record}, indent=1) + "\n"
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(target)
    return target


def undisturbed(browser: str, machine: Mapping[str, Any], metric: str) -> int | None:
    """Return how many loads side by side leave a metric as it is.

    None where that was not measured on this machine, as it is now: ``machine`` are its facts.
    """
    try:
        said = json.loads(path(browser).read_bytes())
        same = all(said["machine"][name] == machine[name] for name in MACHINE)
        most = int(said["undisturbed"][metric])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return most if same and said.get("schema") == SCHEMA and most > 0 else None
