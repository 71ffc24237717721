"""Families of processes that can be recognised and counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

WAIT_S = 20.0


def living(word: str) -> list[int]:
    """List the processes, zombies left out, that have a word among their arguments."""
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
    """Wait for a condition; fail when it does not come true."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
