"""What a driver writes down of a load, beside the browser's events: load.json."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True)
class LoadRecord:
    """The content of load.json."""

    schema: int = 1
    product: str = ""
    arguments: list[str]
    url: str
    title: str = ""
    """The page's title at the end of the load."""
    visit: str
    http_version: str
    started_ns: int = field(default_factory=time.monotonic_ns)
    starts: int = 1
    """How many browsers were started until one answered."""
    began_ns: int = 0
    ready_ns: int | None = None
    navigated_ns: int | None = None
    ended_ns: int | None = None
    ended: str = ""
    reason: str = ""
    dialogs: list[dict[str, str]] = field(default_factory=list)
    cpu_s: float = 0.0
    before_ns: int = 0
    """Duration of the visit before; ``before_cpu_s`` is its CPU time."""
    before_cpu_s: float = 0.0
    truncated: bool = False
    """Whether events were dropped: requests may be missing."""
    trace_cut: bool = False
    """Whether marks of paint may be missing."""
    pictures_cut: bool = False
    """Whether the pictures end before the load did."""
    screen: dict[str, Any] = field(default_factory=dict)
    """What a script sees of the screen after the load, and the measured slowdown."""
    notes: list[str] = field(default_factory=list)
    """What else is missing that no request depends on."""


def viewport(text: str) -> tuple[int, int]:
    """Read ``1366x768``."""
    width, _, height = text.partition("x")
    return int(width), int(height)
