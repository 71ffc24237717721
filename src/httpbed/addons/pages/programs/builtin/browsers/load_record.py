"""What every driver is asked for, and load.json: what it writes beside the browser's events."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cdp import CommandError


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
    """What a script sees of the screen after the load."""
    notes: list[str] = field(default_factory=list)
    """What else is missing that no request depends on."""


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that every driver has; its help is the first line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--browser", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--http-version", choices=("1.1", "2", "3"), required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--names", type=lambda text: text.split(","), required=True)
    parser.add_argument("--viewport", type=_viewport, required=True)
    parser.add_argument("--time-limit", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--no-icon", action="store_true")
    return parser


def _viewport(text: str) -> tuple[int, int]:
    """Read ``1366x768``."""
    width, _, height = text.partition("x")
    return int(width), int(height)


def keep(options: argparse.Namespace, load: Callable[[Path], LoadRecord]) -> None:
    """Load with a new folder for the profile and write load.json, or exit with the reason."""
    with tempfile.TemporaryDirectory(prefix="profile-", ignore_cleanup_errors=True) as profile:
        try:
            record = load(Path(profile))
        except (CommandError, OSError, ValueError) as error:
            sys.exit(f"{options.browser}: {error}")
    (options.folder / "load.json").write_text(json.dumps(vars(record), indent=1) + "\n")
