"""How long a trial waits for a quiet machine before its next attempt, and a run before its first.

After an attempt that is invalid only because the machine was busy, the machine is probably still
busy. Attempts without a pause would all fall into one burst of other work. ``--wait`` raises the
longest of these waits, for work that lasts minutes, such as a build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from httpbed.base import units
from httpbed.bed.machine import pressure
from httpbed.bed.machine.pressure import PressureReading
from httpbed.experiment.trial import Attempt
from httpbed.trial import verdict

FIRST_PATIENCE_S = 1.0
"""Longest wait after the first attempt; it doubles after each further attempt."""
LOOK_S = 0.25
"""Time between two readings: many turns of the scheduler, and short beside the wait."""
STEADY_S = 2.0
"""A run begins after so many quiet seconds: pauses between two commands of a build are shorter."""
FIRST_LOOK_S = STEADY_S + 2 * LOOK_S
"""Long enough to find a quiet machine quiet."""
QUIET_SHARE = 0.25
"""Largest share of the time in which a process waited for a CPU, on a quiet machine. It is half of
the limit for a machine, because the trial adds its own programs."""


@dataclass(frozen=True)
class Patience:
    """How long attempts wait for a quiet machine."""

    allowed_s: float = 0.0
    """The longest wait that the user allows, if that is more than the usual one."""
    ended: Callable[[], bool] = lambda: False
    """Whether the user no longer wants to wait."""

    def after_s(self, attempt: Attempt, number: int) -> float:
        """Return the longest wait after attempt ``number`` of this run; 0 if it does not help."""
        if not verdict.is_strained(attempt):
            return 0.0
        return max(self.allowed_s, FIRST_PATIENCE_S * 2.0 ** (number - 1))


def is_quiet(before: PressureReading, after: PressureReading) -> bool:
    """Whether processes waited little for a CPU between two readings."""
    return after.share_since(before) <= QUIET_SHARE


async def until_quiet(
    most_s: float,
    look: Callable[[], PressureReading] = pressure.read,
    *,
    for_s: float = 0.0,
    ended: Callable[[], bool] = lambda: False,
) -> bool:
    """Wait until the machine has been quiet ``for_s`` seconds, but no longer than ``most_s``.

    Returns:
        Whether it was quiet.
    """
    before = since = look()
    end_s = before.at_s + most_s
    while before.at_s < end_s and not ended():
        await asyncio.sleep(LOOK_S)
        after = look()
        if not is_quiet(before, after):
            since = after
        elif after.at_s - since.at_s >= for_s:
            return True
        before = after
    return False


def before_a_run(
    most_s: float, say: Callable[[str], None], look: Callable[[], PressureReading] = pressure.read
) -> None:
    """Wait for a quiet machine before the first trial of a run, and say so if it takes time."""
    if asyncio.run(until_quiet(FIRST_LOOK_S, look, for_s=STEADY_S)):
        return
    most = units.format_long_duration(most_s)
    say(f"the machine is busy: waiting until it is quiet, at most {most} (--wait)")
    if asyncio.run(until_quiet(most_s, look, for_s=STEADY_S)):
        say("the machine is quiet: the trials begin")
    else:
        say(f"the machine is still busy after {most}: the trials begin, and checks judge each")
