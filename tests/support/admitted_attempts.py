"""Attempts that an admission lets run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import stored_campaigns
from httpbed.campaign.admission import Admission
from httpbed.campaign.demand import Keys
from httpbed.campaign.settings import Parallelism
from httpbed.experiment.check import PRESSURE
from httpbed.experiment.trial import Record, Trial

TRIALS = stored_campaigns.loaded().trials
LIGHT, OTHER = (
    TRIALS[0],
    next(trial for trial in TRIALS if trial.document["roles"] != TRIALS[0].document["roles"]),
)
OTHER_NETWORK = next(
    trial
    for trial in TRIALS
    if trial.document["roles"] == LIGHT.document["roles"]
    and trial.document["topology"] != LIGHT.document["topology"]
)
CPUS = 4
ADAPTED = Parallelism(32, adapts=True)


def record(trial: Trial, share: float, cpus: float | None = None) -> Record:
    """Return the record of an attempt with this share of the limit of CPU pressure."""
    passed, measured = share <= 1, share * PRESSURE.limit
    made = stored_campaigns.record(trial, kind="completed" if passed else "invalid")
    check = PRESSURE.result(passed=passed, figure="", measured=measured)
    attempt = made.attempt.model_copy(update={"checks": [check], "cpus": cpus})
    return made.model_copy(update={"attempt": attempt})


async def ended(
    admitted: Admission, *shares: float, trial: Trial = LIGHT, cpus: float | None = None
) -> None:
    """Run attempts one after another."""
    for share in shares:

        async def attempt(_: object, share: float = share) -> Record:
            return record(trial, share, cpus)

        await admitted.run(trial, attempt)


async def most_at_once(admitted: Admission, trials: Sequence[Trial]) -> int:
    """Run attempts side by side; return how many ran at a time."""
    running, most = 0, 0

    async def attempt(trial: Trial, _: object) -> Record:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return record(trial, 1.0)

    async with asyncio.TaskGroup() as group:
        for trial in trials:
            group.create_task(admitted.run(trial, partial(attempt, trial)))
    return most


def sensitive(admitted: Admission) -> None:
    """Teach that OTHER needs half a CPU and tolerates little more, and LIGHT needs a fifth."""
    admitted.learn_demands([record(LIGHT, 0.0, 0.2).attempt, record(OTHER, 0.0, 0.5).attempt])
    learnt, keys = admitted._demands, Keys.of(OTHER)
    while learnt.tolerance(keys, 0.5) > 0.6:
        learnt.learn_tolerance(keys, 0.5, beside=CPUS, strained=True)
