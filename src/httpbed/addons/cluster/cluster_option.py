"""The option ``--cluster``: where the scheduler is, and how its workers run the trials."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from httpbed.addons.cluster.certificates import Scheduler, default_folder, require
from httpbed.base.errors import ConfigError, HostError, Mistake, RejectedValueError
from httpbed.campaign.addition import CampaignAddition, Executor, Option
from httpbed.campaign.loaded_experiment import LoadedExperiment
from httpbed.campaign.settings import RunSettings
from httpbed.cli.options import PATH
from httpbed.programs.catalog import Catalog
from httpbed.store.layout import CLUSTER

if TYPE_CHECKING:
    from httpbed.campaign.executor import Tell
    from httpbed.campaign.run import OpenRun


_ADDRESS = re.compile(r"tls://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_LAST_PORT = 65535


class SchedulerAddress(click.ParamType[str]):
    """Where a scheduler of Dask listens."""

    name = "tls://HOST:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address; reject any other word."""
        del param
        if ctx and ctx.params.get("init"):
            named = f"name the folder of the certificates with --certificates {value}"
            remedy = "leave it out" if "://" in value else named
            raise RejectedValueError(f"{value!r} has no meaning with --init", remedy)
        found = _ADDRESS.fullmatch(value)
        if found is None or not 1 <= int(found[2]) <= _LAST_PORT:
            remedy = "write it like tls://10.0.0.1:8786"
            raise RejectedValueError(f"{value!r} is not the address of a scheduler", remedy)
        return value


ADDRESS = SchedulerAddress()
cluster_option = click.option(
    "--cluster",
    type=ADDRESS,
    metavar=SchedulerAddress.name,
    help="Run the blocks on other machines, through this Dask scheduler; start httpbed worker on"
    " each machine. Use it if one machine is too slow. The campaign's folder stays here.",
)


certificates_option = click.option(
    "--certificates",
    type=PATH,
    metavar="DIR",
    help="The cluster's certificates, which httpbed worker --init makes; default: cluster in"
    " httpbed's folder of the user's configuration.",
)


def scheduler(address: str, certificates: Path | None) -> Scheduler:
    """Return the scheduler at an address, with valid certificates.

    Raises:
        HostError: The certificates are not valid.
    """
    folder = (certificates or default_folder()).absolute()
    require(folder, datetime.now(UTC))
    return Scheduler(address, folder)


def require_dask() -> None:
    """Check that Dask is installed, which is an extra.

    Raises:
        HostError: It is not; with the remedy.
    """
    if importlib.util.find_spec("distributed") is None:
        remedy = "install it: pip install 'httpbed[cluster]'"
        raise HostError("Dask distributed, which runs clusters, is not installed", remedy)


@dataclass(frozen=True)
class ClusterAddition(CampaignAddition):
    """The option ``--cluster``: other machines run the trials."""

    name: str = "cluster"

    def options(self) -> tuple[Option, ...]:
        """Return the options that name a cluster."""
        return (cluster_option, certificates_option)

    def refuse(self, loaded: LoadedExperiment, settings: RunSettings) -> None:
        """Refuse a cluster without Dask, an extra, without certificates, or without scheduler."""
        del loaded
        address, certificates = map(settings.added.get, ("cluster", "certificates"))
        if address:
            require_dask()
            there = scheduler(address, certificates)
            from httpbed.addons.cluster import dispatch

            asyncio.run(dispatch.require_answer(there))
        elif certificates:
            raise ConfigError([Mistake("--certificates", "is for clusters", "give --cluster, too")])

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
    """Run the pending trials of an open campaign on the workers of a scheduler.

    Raises:
        HostError: No scheduler is there, or no worker for too long.
        KeyboardInterrupt: The user interrupted the run.
    """
    from httpbed.addons.cluster import block, dispatch
    from httpbed.addons.cluster.returned_blocks import ReturnedBlocks

    added, manifest = settings.added, run.content.manifest
    there = scheduler(added["cluster"], added["certificates"])
    order = block.BlockRequest(
        key=f"httpbed-{uuid.uuid4().hex}",
        code=block.own_code(),
        block=0,
        text=run.content.experiment_text,
        folder=str(loaded.folder.absolute()),
        # Here it is decided when treatments stop. The clock may be that of a command line.
        options=replace(loaded.options, until=None, clock=loaded.experiment.clock),
        settings=for_workers(settings),
        manifest={name: manifest[name] for name in block.COMPARED if name in manifest},
    )

    async def execute() -> None:
        async with dispatch.connected(there) as cluster:
            returned = ReturnedBlocks(run.campaign)
            run_of_blocks = dispatch.Dispatch(cluster, order, returned, tell, run.say, run.stopping)
            await run_of_blocks.run(list(run.blocks()))

    run.finish_by(execute)


def for_workers(settings: RunSettings) -> RunSettings:
    """Return the settings of a campaign as the machines of its cluster use them."""
    sources = dict(settings.sources)
    sources["recipe_folders"] = [str(Path(one).absolute()) for one in sources["recipe_folders"]]
    added = {name: settings.added.get(name, False) for name in ("strict",)}
    return replace(settings, sources=sources, added=added)


ADDITION = ClusterAddition()
