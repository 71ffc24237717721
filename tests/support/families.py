"""Processes found by a word among their arguments, and waiting for a condition."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 20.0


def living(word: str) -> list[int]:
    """List the processes with a word among their arguments, without zombies."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if word.encode() in words and state != "Z":
            found.append(int(process.name))
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; fail if it stays false."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
