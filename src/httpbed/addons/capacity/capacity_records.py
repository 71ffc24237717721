"""Records of capacity tests, one file per browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpbed.base import atomic_record as records
from httpbed.base import folders

SCHEMA = 1
PICTURES, TIMES = METRICS = ("speed_index", "page_load_time")
"""Metrics measured separately: visual metrics suffer before load times do."""
_OF_PICTURES = frozenset({PICTURES, "first_contentful_paint", "largest_contentful_paint"})
MACHINE = ("kernel", "architecture", "cpu", "cores", "memory_bytes")
"""Facts of the machine that must equal those in the record."""


def path(browser: str) -> Path:
    """Return where a browser's record is, or would be."""
    return folders.state() / "capacity" / f"{browser}.json"


def write(browser: str, record: Mapping[str, Any]) -> Path:
    """Keep a record, and return its path."""
    return records.write(path(browser), {"schema": SCHEMA, **record})


def undisturbed(browser: str, made_by: Mapping[str, Any], metric: str) -> int | None:
    """Return how many loads side by side leave a metric undisturbed.

    None without a record of this machine, browser and link backend, which ``made_by``, a campaign's
    manifest, describes.
    """
    programs = {one["name"]: one for one in made_by["programs"]}
    try:
        record = json.loads(path(browser).read_bytes())
        same = (
            record["schema"] == SCHEMA
            and all(record["machine"][name] == made_by["host"][name] for name in MACHINE)
            and record["browser"]["sha256"] == programs[browser]["sha256"]
            and record["backend"] == made_by["link"]["backend"]
        )
        most = int(record["undisturbed"][_like(metric)])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return most if same and most > 0 else None


def _like(metric: str) -> str:
    """Return the measured metric that represents another metric."""
    return PICTURES if metric in _OF_PICTURES else TIMES
