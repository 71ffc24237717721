"""Run trials on this machine, some side by side, each attempt in a sandbox of its own.

All sandboxes are started from the event loop's thread, which outlives them: the kernel kills a
sandbox when the thread that started it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from httpbed.campaign import quiet_machine
from httpbed.experiment.errors import BedError
from httpbed.experiment.trial import Attempt, Trial
from httpbed.store.campaign import Campaign
from httpbed.trial import verdict
from httpbed.trial.plan import Bed
from httpbed.trial.run import runner
from httpbed.trial.verdict import Try

MOST_RETRIES = 3
"""After an invalid attempt a trial is tried again so often, never silently."""


@dataclass(frozen=True)
class Progress:
    """An attempt has been committed."""

    attempt: Attempt
    retried: bool
    """Whether another attempt at the same trial follows."""
    patience_s: float = 0.0
    """How long at most that one waits for a quiet machine."""


def pending(campaign: Campaign, design: Iterable[Trial]) -> list[tuple[Trial, int]]:
    """List the trials that are not finished, each with the number of its next attempt.

    A trial whose attempts were all invalid is tried again when its campaign is resumed.
    """
    last = campaign.attempts()
    work = []
    for trial in design:
        attempt = last.get(trial.id)
        if attempt is None or attempt.outcome.kind == "invalid":
            work.append((trial, attempt.number + 1 if attempt else 1))
    return work


async def execute(  # noqa: PLR0913 - all but the first three are told by name
    campaign: Campaign,
    bed: Bed,
    work: Iterable[tuple[Trial, int]],
    *,
    jobs: int,
    tell: Callable[[Progress], None],
    retries: int = MOST_RETRIES,
) -> None:
    """Run the trials of ``work`` in order, ``jobs`` at a time.

    Raises:
        HostError: This machine cannot run any of them.
    """
    queue = iter(list(work))

    async def slot() -> None:
        for trial, number in queue:
            await _finish(campaign, bed, trial, range(number, number + retries + 1), tell)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(jobs):
                group.create_task(slot())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _finish(
    campaign: Campaign, bed: Bed, trial: Trial, numbers: range, tell: Callable[[Progress], None]
) -> None:
    for number in numbers:
        attempt = await _attempt(campaign, bed, trial, number)
        retry = attempt.outcome.kind == "invalid" and number < numbers[-1]
        patience_s = quiet_machine.patience_s(attempt, number - numbers[0] + 1) if retry else 0.0
        tell(Progress(attempt, retry, patience_s))
        if not retry:
            return
        if patience_s:
            await quiet_machine.until_quiet(patience_s)


async def _attempt(campaign: Campaign, bed: Bed, trial: Trial, number: int) -> Attempt:
    this = Try(trial, number, datetime.now(UTC))
    folder = campaign.unfinished(trial, number)
    try:
        phases = await runner.run(trial, bed, folder / "artifacts")
        record = await asyncio.to_thread(
            verdict.judge, this, bed, folder / "artifacts", phases.seconds
        )
    except BedError as error:
        record = verdict.broken_bed(this, str(error))
    # Beside the event loop: it waits for the disk, and other trials go on meanwhile.
    await asyncio.to_thread(campaign.commit, record, folder)
    return record.attempt
