"""The option ``--wait``: how long a run may wait for a quiet machine."""

from __future__ import annotations

import click

from httpbed.addons.link.tc_quantities import spelled
from httpbed.base import units
from httpbed.base.errors import RejectedValueError

MOST_S = 24 * 3600.0


def _seconds(context: click.Context, parameter: click.Parameter, text: str | None) -> float:
    del context, parameter
    if text is None:
        return 0.0
    seconds = units.parse_duration(spelled("duration", text), example="10min")
    if seconds > MOST_S:
        raise RejectedValueError(f"{text!r} is above 24 h", "use 24h or less")
    return seconds


wait_option = click.option(
    "--wait",
    "wait_s",
    callback=_seconds,
    metavar="10min",
    help="Wait at most this long for a quiet machine: before the first trial, and after each"
    " attempt that a busy machine made invalid. Default: begin at once, and wait some seconds after"
    " such an attempt.",
)
