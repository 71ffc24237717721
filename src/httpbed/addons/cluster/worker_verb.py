"""``httpbed worker``: run blocks of campaigns on this machine."""

from __future__ import annotations

import platform
import shlex
from datetime import UTC, datetime
from pathlib import Path

import click

from httpbed.addons.cluster import certificates as members
from httpbed.addons.cluster.certificates import default_folder
from httpbed.addons.cluster.cluster_option import (
    ADDRESS,
    SchedulerAddress,
    certificates_option,
    require_dask,
    scheduler,
)
from httpbed.base.errors import ConfigError, Mistake
from httpbed.cli.echo import echo, say
from httpbed.cli.options import WholeNumber
from httpbed.cli.verb import verb
from httpbed.programs.part import AUTHORITY

MAX_SLOTS = 64
QUIET = "--no-dashboard --dashboard-address 127.0.0.1:0"
"""Dask's scheduler shows its pages, which need no certificate, to this machine only."""


@verb("worker")
@click.argument("address", type=ADDRESS, metavar=SchedulerAddress.name, required=False)
@click.option(
    "--init",
    is_flag=True,
    is_eager=True,  # it says how the address is read
    help="Make the certificates of a new cluster, and print how to start its scheduler.",
)
@certificates_option
@click.option(
    "--name",
    default=platform.node,
    metavar="NAME",
    help="The machine's name in campaigns and reports; default: its host name.",
)
@click.option(
    "--slots",
    type=WholeNumber(1, MAX_SLOTS),
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
    name: str,
    slots: int,
    host: str | None,
    as_json: bool,
) -> None:
    """Run blocks of campaigns on this machine, for httpbed run --cluster.

    Use it on each machine of a cluster. First make the cluster's certificates with --init, start
    the scheduler as that prints, and copy the folder to each machine. The worker tests what this
    machine can do, registers with the scheduler, and works until Ctrl-C, or
    until the scheduler is gone.

    A user who has the cluster's key can run programs as you on every machine of the cluster.
    """
    if address is None and not init:
        remedy = f"write httpbed worker {SchedulerAddress.name}, or httpbed worker --init"
        raise ConfigError([Mistake(SchedulerAddress.name, "is missing", remedy)])
    require_dask()
    if address is None:
        _make_certificates((certificates or default_folder()).absolute())
        return
    there = scheduler(address, certificates)
    from httpbed.addons.cluster import block, worker
    from httpbed.addons.cluster.block import WorkerFacts

    block.require_able()

    def connected(facts: WorkerFacts) -> None:
        if as_json:
            echo(facts.model_dump_json())
        say(f"{facts.name} is connected to {there.address}; Ctrl-C ends it")

    worker.serve(worker.WorkerOptions(there, name, slots, host), connected)


def _make_certificates(folder: Path) -> None:
    """Make the certificates of a cluster, and print how to use them."""
    until = members.make(folder, datetime.now(UTC))
    say(f"{folder} has the key of a new cluster, valid until {until:%d %B %Y}")
    say("copy the folder to each machine of the cluster, readable by its user alone")
    say("start the scheduler, here with an address of this machine:")
    files = {
        "ca-file": folder / AUTHORITY,
        "cert": folder / members.CERTIFICATE,
        "key": folder / members.KEY,
    }
    tls = " ".join(f"--tls-{name} {shlex.quote(str(path))}" for name, path in files.items())
    echo(f"dask scheduler --host tls://10.0.0.1 {tls} {QUIET}")
