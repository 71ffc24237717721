"""A second series of attempts, at the end of a run, after the machine was too busy for the first.

The rule: a trial whose whole first series of attempts was invalid, the last one only because the
machine was busy, gets one further series of the same length. These trials run one at a time. Before
each, httpbed waits until other programs take less than half of the CPUs; all these waits together
take at most a minute. A trial that is then still without a valid attempt is left to the next run.

Other work on a machine comes in bursts, a build or a test run, and the retries within a block often
fall into the same one. The end of the run is as far from it as a run gets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from httpbed.bed.machine import machine_load
from httpbed.campaign.executor import Work

MAX_WAIT_S = 60.0
"""Longest time that a run waits for a calmer machine, in all."""


class Execute(Protocol):
    """Runs trials, and returns those that a busy machine left without a valid attempt."""

    def __call__(self, work: Sequence[Work], /) -> Coroutine[Any, Any, list[Work]]:
        """Run these trials."""


def run(
    left: Sequence[Work],
    execute: Execute,
    say: Callable[[str], None],
    *,
    taken_share: Callable[[], float] = machine_load.taken_share,
) -> None:
    """Give each of these trials a second series of attempts, by the rule above."""
    if not left:
        return
    say(_beginning(len(left)))
    patience_s = MAX_WAIT_S
    for one in left:
        patience_s -= _wait_for_calm(patience_s, taken_share)
        asyncio.run(execute([one]))


def _wait_for_calm(most_s: float, taken_share: Callable[[], float]) -> float:
    """Wait until other programs leave half of the CPUs; return the seconds that it took."""
    began_s = time.monotonic()
    while (waited_s := time.monotonic() - began_s) < most_s:
        if taken_share() < machine_load.BUSY_SHARE:
            break
    return waited_s


def _beginning(count: int) -> str:
    trials, lack = ("1 trial", "lacks") if count == 1 else (f"{count} trials", "lack")
    return (
        f"{trials} {lack} a valid attempt because the machine was busy: trying again, one at a"
        f" time, once others take less than {machine_load.BUSY_SHARE:.0%} of the CPUs, or after"
        f" {MAX_WAIT_S:.0f} s"
    )
