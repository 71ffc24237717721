"""Lets the workers of a cluster run the trials of ``httpbed run --cluster``."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from httpbed.addons.cluster import cluster_option
from httpbed.campaign.addition import CampaignAddition, Executor, Option, Tell
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.programs.catalog import Catalog
from httpbed.store.layout import CLUSTER

if TYPE_CHECKING:  # --help need not import it
    from httpbed.campaign.run import OpenRun


@dataclass(frozen=True)
class ClusterAddition(CampaignAddition):
    """The option ``--cluster``: other machines run the trials."""

    name: str = "cluster"

    def options(self) -> tuple[Option, ...]:
        """Return the options that name a cluster."""
        return (
            cluster_option.cluster_option,
            cluster_option.certificates_option,
            cluster_option.without_tls_option,
        )

    def refuse(self, loaded: LoadedExperiment, settings: RunSettings) -> None:
        """Refuse virtual time, an address without TLS, and certificates that are not valid."""
        added = settings.added
        cluster_option.require_cluster(
            loaded.experiment.clock,
            added.get("cluster"),
            added.get("certificates"),
            added.get("without_tls", False),
        )

    def executor(self, settings: RunSettings) -> Executor | None:
        """Return the workers of the scheduler, if there is one."""
        return finish if settings.added.get("cluster") else None

    def describe(
        self,
        manifest: dict[str, Any],
        loaded: LoadedExperiment,
        catalog: Catalog,
        settings: RunSettings,
    ) -> None:
        """Say that the machines of a cluster run the trials: this one measures nothing."""
        del loaded, catalog
        if self.executor(settings):
            manifest[CLUSTER] = True
            del manifest["host"]


COMPARED = ("programs", "recipes", "sites", "link", "kept")
"""What of the campaign's manifest has to be the same on the machine of a worker."""


def finish(run: OpenRun, loaded: LoadedExperiment, settings: RunSettings, tell: Tell) -> None:
    """Run the pending trials of an open campaign on the workers of a scheduler.

    Raises:
        HostError: No scheduler is there, or no worker for too long.
        KeyboardInterrupt: The user interrupted the run.
    """
    from httpbed.addons.cluster import block_process, messages
    from httpbed.addons.cluster.dispatch import DaskCluster, Dispatch
    from httpbed.addons.cluster.returned_blocks import ReturnedBlocks

    added, topic = settings.added, f"httpbed-{uuid.uuid4().hex}"
    scheduler = cluster_option.scheduler(
        added["cluster"], added["certificates"], added["without_tls"]
    )
    manifest = run.content.manifest
    order = messages.BlockRequest(
        key="",
        topic=topic,
        code=messages.own_code(),
        block=0,
        text=run.content.experiment_text,
        folder=str(loaded.folder.absolute()),
        # A cluster has no other clock than the real one; here it is decided when treatments stop.
        options=replace(loaded.options, until=None, clock="real"),
        settings=block_process.for_workers(settings),
        manifest={name: manifest[name] for name in COMPARED if name in manifest},
    )

    async def execute() -> None:
        async with DaskCluster(scheduler, topic) as cluster:
            returned = ReturnedBlocks(run.campaign)
            dispatch = Dispatch(cluster, order, returned, tell, run.say, run.stopping)
            await dispatch.run(list(run.blocks()))

    run.finish_by(execute)


ADDITION = ClusterAddition()
