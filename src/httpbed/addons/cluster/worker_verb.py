"""``httpbed worker``: run blocks of campaigns on this machine."""

from __future__ import annotations

import platform
from pathlib import Path

import click

from httpbed.addons.cluster.certificates import default_folder
from httpbed.addons.cluster.cluster_option import (
    ADDRESS,
    SchedulerAddress,
    certificates_option,
    require_dask,
    scheduler,
    without_tls_option,
)
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.options import WholeNumber
from httpbed.cli.verb import verb

MOST_SLOTS = 64


@verb("worker")
@click.argument("address", type=ADDRESS, metavar=SchedulerAddress.name, required=False)
@click.option(
    "--init",
    is_flag=True,
    help="Make the certificates of a new cluster, and print how to start its scheduler.",
)
@certificates_option
@without_tls_option
@click.option(
    "--name",
    default=platform.node,
    metavar="NAME",
    help="The machine's name in campaigns and reports; default: its host name.",
)
@click.option(
    "--slots",
    type=WholeNumber(1, MOST_SLOTS),
    default=1,
    show_default=True,
    help="Blocks at a time. The trials of a block run side by side anyway (httpbed run --jobs); use"
    " more slots for experiments with few treatments, on a machine with many cores.",
)
@click.option(
    "--host",
    metavar="ADDRESS",
    help="The address of this machine at which the scheduler reaches it; default: the one from"
    " which it reaches the scheduler.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the machine's facts as JSON when connected."
)
def command(
    *,
    address: str | None,
    init: bool,
    certificates: Path | None,
    without_tls: bool,
    name: str,
    slots: int,
    host: str | None,
    as_json: bool,
) -> None:
    """Run blocks of campaigns on this machine, for httpbed run --cluster.

    Use it on each machine of a cluster. First make the cluster's certificates with --init, start
    the scheduler as that prints, and copy the folder to each machine. The worker tests what this
    machine can do, registers with the scheduler, and works until Ctrl-C. If the scheduler vanishes,
    the worker waits ten minutes for it.

    A user who has the cluster's key can run programs as you on every machine of the cluster.
    """
    if init == (address is not None):
        remedy = f"write httpbed worker {SchedulerAddress.name}, or httpbed worker --init"
        reason = "is missing" if address is None else "is not for --init"
        raise ConfigError([Mistake(SchedulerAddress.name, reason, remedy)])
    require_dask()
    from httpbed.addons.cluster import worker_body as body

    if address is None:
        body.make_certificates((certificates or default_folder()).absolute())
        return
    from httpbed.addons.cluster.worker_service import WorkerOptions

    there = scheduler(address, certificates, without_tls)
    body.run(WorkerOptions(there, name, slots, host), as_json=as_json)
