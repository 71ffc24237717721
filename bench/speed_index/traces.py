"""What a raw trace of Chromium holds of a page's pictures."""

from __future__ import annotations

import base64
import json
import lzma
from pathlib import Path
from typing import Any


def events(file: Path) -> list[dict[str, Any]]:
    """Read a recorded trace."""
    told = json.loads(lzma.decompress(file.read_bytes()))
    return [dict(event) for event in told["traceEvents"]]


def navigation_us(told: list[dict[str, Any]]) -> int:
    """Return when the page's navigation began: the first that is not to ``about:blank``."""
    begun = (event for event in told if event["name"] == "navigationStart")
    return min(
        int(one["ts"]) for one in begun if one["args"]["data"]["documentLoaderURL"][:4] == "http"
    )


def pictures(file: Path) -> list[tuple[float, bytes]]:
    """Return a trace's pictures, each with its time in seconds since the navigation began."""
    told = events(file)
    began_us = navigation_us(told)
    shots = [event for event in told if event["name"] == "Screenshot"]
    return [
        ((shot["ts"] - began_us) / 1e6, base64.b64decode(shot["args"]["snapshot"]))
        for shot in sorted(shots, key=lambda shot: int(shot["ts"]))
    ]
