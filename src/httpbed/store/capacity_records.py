"""Records of how many page loads this machine carries side by side: one file per browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.host import atomic_record as records
from httpbed.host import folders

SCHEMA = 1
PICTURES, TIMES = METRICS = ("speed_index", "page_load_time")
"""What is told of apart: pictures of a page are disturbed sooner than its times."""
_OF_PICTURES = frozenset({PICTURES, "first_contentful_paint", "largest_contentful_paint"})
MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""What must be the same for a record to hold."""


def path(browser: str) -> Path:
    """Return where a browser's record is, or would be."""
    return folders.state() / "capacity" / f"{browser}.json"


def write(browser: str, record: Mapping[str, Any]) -> Path:
    """Keep a record, and return its path."""
    return records.write(path(browser), {"schema": SCHEMA, **record})


def undisturbed(browser: str, made_by: Mapping[str, Any], metric: str) -> int | None:
    """Return how many loads side by side leave a metric as it is.

    None where that was not measured on this machine, of this browser and with this link backend;
    ``made_by`` is a campaign's manifest, which tells of them.
    """
    programs = {one["name"]: one for one in made_by["programs"]}
    try:
        said = json.loads(path(browser).read_bytes())
        same = (
            said["schema"] == SCHEMA
            and all(said["machine"][name] == made_by["host"][name] for name in MACHINE)
            and said["browser"]["sha256"] == programs[browser]["sha256"]
            and said["backend"] == made_by["link"]["backend"]
        )
        most = int(said["undisturbed"][_like(metric)])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return most if same and most > 0 else None


def _like(metric: str) -> str:
    """Name the measured metric that is disturbed like another one."""
    return PICTURES if metric in _OF_PICTURES else TIMES
