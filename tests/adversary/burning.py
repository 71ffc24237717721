"""Attacks on the CPU that no accounting of a program alone would show."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

ORPHANS = 50
BURNT_S = 0.02
"""CPU time of each: shorter than the time between two looks at all tasks."""


def orphans() -> None:
    """Burn the CPU in one short-lived orphan after the other."""
    for _number in range(ORPHANS):
        ended, ends = os.pipe()
        if (child := os.fork()) == 0:
            if os.fork() == 0:
                while time.process_time() < BURNT_S:
                    pass
            os._exit(0)
        os.close(ends)
        os.waitpid(child, 0)
        os.read(ended, 1)  # until the orphan, too, has closed its end
        os.close(ended)


BURNING: dict[str, Callable[[], None]] = {"orphans": orphans}
