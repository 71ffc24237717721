"""The address of a scheduler, and the option ``--cluster``."""

from __future__ import annotations

import importlib.util
import re

import click

from httpbed.experiment.clock import Clock
from httpbed.experiment.errors import ConfigError, HostError, Mistake, RejectedValueError

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_LAST_PORT = 65535


class SchedulerAddress(click.ParamType[str]):
    """Where a scheduler of Dask listens."""

    name = "tcp://HOST:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address; reject any other word."""
        del param, ctx
        found = _ADDRESS.fullmatch(value)
        if found is None or not 1 <= int(found[3]) <= _LAST_PORT:
            remedy = "write it like tcp://10.0.0.1:8786 or tls://10.0.0.1:8786"
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


def require_cluster(clock: Clock) -> None:
    """Check that a cluster can run trials by this clock, and that Dask, an extra, is installed.

    Raises:
        ConfigError: The clock is virtual, which clusters do not support.
        HostError: Dask is not installed; with the remedy.
    """
    if clock == "virtual":
        remedy = "run without --cluster, or with --clock real"
        raise ConfigError([Mistake("--cluster", "has no virtual time yet", remedy)])
    require_dask()


def require_dask() -> None:
    """Check that Dask is installed, which is an extra.

    Raises:
        HostError: It is not; with the remedy.
    """
    if importlib.util.find_spec("distributed") is None:
        remedy = "install it: pip install 'httpbed[cluster]'"
        raise HostError("Dask distributed, which runs clusters, is not installed", remedy)
