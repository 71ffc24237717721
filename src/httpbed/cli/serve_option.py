"""The option ``--serve``: a local page that shows a campaign under way."""

from __future__ import annotations

import errno
import socket
from typing import Any

import click

from httpbed.experiment.errors import ConfigError, Mistake, RejectedValueError

ADDRESS = "127.0.0.1"
MOST_PORT = 65535


def listen(port: int) -> socket.socket:
    """Return a socket that listens on a port of the loopback address; 0 is a free port.

    Raises:
        ConfigError: The port is in use, or reserved.
    """
    try:
        return socket.create_server((ADDRESS, port), backlog=16)
    except OSError as error:
        if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
            raise
        why = "is in use" if error.errno == errno.EADDRINUSE else "is reserved for root"
        remedy = "choose another port, or write --serve alone for a free one"
        raise ConfigError([Mistake("--serve", f"port {port} {why}", remedy)]) from None


def address(listening: socket.socket) -> str:
    """Return the address of the page."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/"


class _Port(click.ParamType[int]):
    """A port that is free; 0 lets the kernel choose one."""

    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the port; raise ConfigError if it is in use."""
        del param, ctx
        text = str(value)
        if not text.isdecimal() or int(text) > MOST_PORT:
            accepted = f"write a number from 1 to {MOST_PORT} after --serve, or --serve last"
            raise RejectedValueError(f"{text!r} is not a port", accepted)
        listen(int(text)).close()
        return int(text)


serve_option = click.option(
    "--serve",
    "port",
    type=_Port(),
    is_flag=False,
    flag_value="0",
    metavar="[PORT]",
    help="Also show the status on a page of this machine, http://127.0.0.1:PORT/; default: a free"
    " port, which is printed.",
)
