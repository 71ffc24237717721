"""``httpbed worker``: run blocks of campaigns on this machine."""

from __future__ import annotations

import platform

import click

from httpbed.cli.cluster_option import ADDRESS, require_dask
from httpbed.cli.verb import verb
from httpbed.cli.whole_number import WholeNumber

MOST_SLOTS = 64


@verb("worker")
@click.argument("address", type=ADDRESS, metavar="tcp://HOST:PORT")
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
def command(*, address: str, name: str, slots: int, host: str | None, as_json: bool) -> None:
    """Run blocks of campaigns on this machine, for httpbed run --cluster.

    Use it on each machine of a cluster. Start the scheduler first: dask scheduler. The worker tests
    what this machine can do, registers with the scheduler, and works until Ctrl-C. If the scheduler
    vanishes, the worker waits ten minutes for it.

    A user who reaches the scheduler can run programs as you on every worker. Let it listen on a
    private network, or use tls://.
    """
    require_dask()
    from httpbed.campaign.cluster.worker_service import WorkerOptions  # noqa: PLC0415 - not for --help
    from httpbed.cli.bodies import worker as body  # noqa: PLC0415 - as above

    body.run(WorkerOptions(address, name, slots, host), as_json=as_json)
