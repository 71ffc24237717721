"""How long a trial waits for a quiet machine before its next attempt.

After an attempt that is invalid only because the machine was busy, the machine is probably still
busy. Attempts without a pause would all fall into one burst of other work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from httpbed.experiment.trial import Attempt
from httpbed.host import pressure
from httpbed.host.pressure import PressureReading
from httpbed.trial import verdict

FIRST_PATIENCE_S = 1.0
"""Longest wait after the first attempt; it doubles after each further attempt."""
LOOK_S = 0.25
"""Time between two readings: many turns of the scheduler, and short beside the wait."""
QUIET_SHARE = 0.25
"""Largest share of the time in which a process waited for a CPU, on a quiet machine. It is half of
the limit for a machine, because the trial adds its own programs."""


def patience_s(attempt: Attempt, number: int) -> float:
    """Return the longest wait after attempt ``number`` of this run; 0 if waiting does not help."""
    return FIRST_PATIENCE_S * 2 ** (number - 1) if verdict.is_strained(attempt) else 0.0


def is_quiet(before: PressureReading, after: PressureReading) -> bool:
    """Whether processes waited little for a CPU between two readings."""
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
