"""The address of a scheduler, and the option ``--cluster``."""

from __future__ import annotations

import importlib.util
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import click

from httpbed.addons.cluster.certificates import ENCRYPTED, Scheduler, default_folder, require
from httpbed.base.clock import Clock
from httpbed.base.errors import ConfigError, HostError, Mistake, RejectedValueError

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
_LAST_PORT = 65535


class SchedulerAddress(click.ParamType[str]):
    """Where a scheduler of Dask listens."""

    name = "tls://HOST:PORT"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address; reject any other word."""
        del param, ctx
        found = _ADDRESS.fullmatch(value)
        if found is None or not 1 <= int(found[3]) <= _LAST_PORT:
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
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The cluster's certificates, which httpbed worker --init makes; default: cluster in"
    " httpbed's folder of the user's configuration.",
)
without_tls_option = click.option(
    "--without-tls",
    is_flag=True,
    help="Accept tcp://HOST:PORT, over which each user who reaches a port runs programs as you."
    " Root cannot.",
)


def require_cluster(
    clock: Clock, address: str | None, certificates: Path | None, without_tls: bool
) -> Scheduler | None:
    """Return the scheduler that runs an experiment; None if this machine runs it.

    Raises:
        ConfigError: The clock is virtual, which clusters do not support; or the address needs TLS.
        HostError: Dask, an extra, is not installed, or the certificates are not valid.
    """
    if address is None:
        if certificates or without_tls:
            place = "--certificates" if certificates else "--without-tls"
            raise ConfigError([Mistake(place, "is for clusters", "give --cluster, too")])
        return None
    if clock == "virtual":
        remedy = "run without --cluster, or with --clock real"
        raise ConfigError([Mistake("--cluster", "has no virtual time yet", remedy)])
    require_dask()
    return scheduler(address, certificates, without_tls)


def scheduler(address: str, certificates: Path | None, without_tls: bool) -> Scheduler:
    """Return the scheduler at an address, with valid certificates if the address is of TLS.

    Raises:
        ConfigError: Without TLS, and not by the user's will, or as root.
        HostError: The certificates are not valid.
    """
    if address.startswith(ENCRYPTED):
        if without_tls:
            raise ConfigError([Mistake("--without-tls", f"contradicts {address}", "omit one")])
        folder = (certificates or default_folder()).absolute()
        require(folder, datetime.now(UTC))
        return Scheduler(address, folder)
    remedy = f"write {ENCRYPTED} and make certificates: httpbed worker --init"
    if os.geteuid() == 0:
        reason = "would let each user who reaches a port of the cluster run programs as root"
        raise ConfigError([Mistake(address, reason, remedy)])
    if not without_tls:
        reason = "would let each user who reaches a port of the cluster run programs as you"
        remedy += "; or add --without-tls where nobody else reaches the ports"
        raise ConfigError([Mistake(address, reason, remedy)])
    return Scheduler(address, None)


def require_dask() -> None:
    """Check that Dask is installed, which is an extra.

    Raises:
        HostError: It is not; with the remedy.
    """
    if importlib.util.find_spec("distributed") is None:
        remedy = "install it: pip install 'httpbed[cluster]'"
        raise HostError("Dask distributed, which runs clusters, is not installed", remedy)
