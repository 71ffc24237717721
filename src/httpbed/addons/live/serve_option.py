"""The option ``--serve``: a local page that shows a campaign under way."""

from __future__ import annotations

import errno
import secrets
import socket
from typing import Any

import click

from httpbed.base.errors import ConfigError, Mistake, RejectedValueError

ADDRESS = "127.0.0.1"
MAX_PORT = 65535
VARIABLE = "HTTPBED_LIVE_SECRET"
"""Variable by which a run gives its watcher the secret."""


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


def new_secret() -> str:
    """Return a new word that lets who knows it read the page."""
    return secrets.token_urlsafe(16)


def address(listening: socket.socket, secret: str) -> str:
    """Return the address of the page, with its secret."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/{secret}/"


class _Port(click.ParamType[int]):
    """A port that is free; 0 lets the kernel choose one."""

    name = "port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the port; raise ConfigError if it is in use."""
        del param, ctx
        text = str(value)
        if not text.isdecimal() or int(text) > MAX_PORT:
            accepted = f"write a number from 1 to {MAX_PORT} after --serve, or --serve last"
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
    help="Also show the status on a page of this machine, whose address is printed; default: a free"
    " port. Other users of the machine cannot read it without the address.",
)
