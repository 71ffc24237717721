"""How long to wait for a quiet machine before the next try; what decides is pure.

A try that was invalid only because the machine was busy says that it will be busy a moment later,
too: tries without a pause would all be spent on one burst of somebody else's work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from httpbed.experiment.trial import Attempt
from httpbed.host import pressure
from httpbed.host.pressure import PressureReading
from httpbed.trial import verdict

FIRST_PATIENCE_S = 1.0
"""Longest wait after the first try; twice as long after each further one."""
LOOK_S = 0.25
"""Between two looks: many turns of the scheduler, short beside the wait."""
QUIET_SHARE = 0.25
"""Of the time between two looks somebody waited for a CPU: half of what a trial may show, which
will add its own programs to it."""


def patience_s(attempt: Attempt, tries: int) -> float:
    """Say how long at most to wait after this one of so many tries; 0 where no waiting helps."""
    return FIRST_PATIENCE_S * 2 ** (tries - 1) if verdict.is_strained(attempt) else 0.0


def is_quiet(before: PressureReading, after: PressureReading) -> bool:
    """Whether few waited for a CPU between two looks."""
    return after.share_since(before) <= QUIET_SHARE


async def until_quiet(most_s: float, look: Callable[[], PressureReading] = pressure.read) -> None:
    """Wait until the machine is quiet, but no longer than ``most_s``."""
    before = look()
    end_s = before.at_s + most_s
    while before.at_s < end_s:
        await asyncio.sleep(LOOK_S)
        after = look()
        if is_quiet(before, after):
            return
        before = after
