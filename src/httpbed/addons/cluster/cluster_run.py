"""Lets the workers of a cluster run the trials of ``httpbed run --cluster``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.addons.cluster import cluster_option
from httpbed.campaign.addition import CampaignAddition, Executor, Option, Tell
from httpbed.campaign.preparation import LoadedExperiment
from httpbed.campaign.run import OpenRun
from httpbed.campaign.settings import RunSettings
from httpbed.programs.catalog import Catalog
from httpbed.store.layout import CLUSTER


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


def finish(run: OpenRun, loaded: LoadedExperiment, settings: RunSettings, tell: Tell) -> None:
    """Run the pending trials of an open campaign on the workers of a scheduler."""
    from httpbed.addons.cluster import execution
    from httpbed.addons.cluster.messages import RunSelection

    added, sources = settings.added, settings.sources
    scheduler = cluster_option.scheduler(
        added["cluster"], added["certificates"], added["without_tls"]
    )
    selection = RunSelection(
        folder=str(loaded.folder.absolute()),
        scale=loaded.scale,
        for_claims=loaded.for_claims is not None,
        replicates=loaded.replicates,
        recipe_folders=[str(Path(one).absolute()) for one in sources["recipe_folders"]],
        programs=sources["own_programs"],
        keep=sorted(settings.keep),
        backend=settings.backend,
        strict=added.get("strict", False),
        jobs=None if settings.jobs.adapts else settings.jobs.most,
        command=settings.command,
    )
    run.finish_by(lambda: execution.execute(run, scheduler, selection, tell=tell))


ADDITION = ClusterAddition()
