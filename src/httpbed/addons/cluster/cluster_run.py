"""Lets the workers of a cluster run the trials of ``httpbed run --cluster``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.addons.cluster import execution
from httpbed.addons.cluster.certificates import Scheduler
from httpbed.addons.cluster.messages import RunSelection
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.progress import AttemptProgress
from httpbed.campaign.run import OpenRun
from httpbed.cli import experiment_argument
from httpbed.cli.echo import command_line

if TYPE_CHECKING:
    from httpbed.cli.run import RunFlags


def finish(
    run: OpenRun,
    loaded: LoadedExperiment,
    flags: RunFlags,
    scheduler: Scheduler,
    *,
    tell: Callable[[AttemptProgress], None],
) -> None:
    """Run the pending trials of an open campaign on the workers of a scheduler."""
    own = experiment_argument.program_sources()
    selection = RunSelection(
        folder=str(loaded.folder.absolute()),
        scale=loaded.scale,
        for_claims=loaded.for_claims is not None,
        replicates=loaded.replicates,
        recipe_folders=[str(Path(one).absolute()) for one in own["recipe_folders"]],
        programs=own["own_programs"],
        keep=sorted(flags.keep),
        backend=flags.backend,
        strict=flags.strict,
        jobs=None if flags.jobs.adapts else flags.jobs.most,
        wait_s=flags.wait_s,
        command=command_line(),
    )
    run.finish_by(lambda: execution.execute(run, scheduler, selection, tell=tell))
