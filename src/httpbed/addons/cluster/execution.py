"""Executes the blocks of an open run on a cluster, in place of this machine's own executor."""

from __future__ import annotations

from typing import Any

from httpbed.addons.cluster import messages
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.connection import Connection
from httpbed.addons.cluster.dispatch import Dispatch, Order, Tell
from httpbed.addons.cluster.messages import RunSelection
from httpbed.addons.cluster.returned_blocks import ReturnedBlocks
from httpbed.campaign.run import OpenRun

COMPARED = ("programs", "recipes", "sites", "link", "kept")
"""What of the campaign's manifest has to be the same on the machine of a worker."""


async def execute(
    run: OpenRun,
    scheduler: Scheduler,
    selection: RunSelection,
    *,
    tell: Tell,
) -> None:
    """Run the pending blocks on the workers of a scheduler, and commit every attempt.

    Raises:
        HostError: No scheduler or no worker is there for too long.
        KeyboardInterrupt: The user interrupted the run.
    """
    made_by: dict[str, Any] = dict(run.content.manifest)
    compared = {name: made_by[name] for name in COMPARED if name in made_by}
    order = Order(run.content.experiment_text, selection, compared, messages.own_code())
    async with Connection(scheduler) as cluster:
        returned = ReturnedBlocks(run.campaign)
        dispatch = Dispatch(cluster, order, returned, tell, run.say, run.stopping)
        await dispatch.run(run.blocks())
