"""The option ``--wait``: how long a run may wait for a quiet machine."""

from __future__ import annotations

import click

from httpbed.experiment import units
from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.network.shell.tc_quantities import spelled

MOST_S = 24 * 3600.0


def _seconds(context: click.Context, parameter: click.Parameter, text: str | None) -> float:
    del context, parameter
    if text is None:
        return 0.0
    try:
        seconds = units.parse_duration(spelled("duration", text))
    except ValueError as error:
        reason, _, _ = str(error).partition("; write it like")  # in an experiment file
        raise ConfigError([Mistake("--wait", reason, "write it like --wait 10min")]) from None
    if seconds > MOST_S:
        raise ConfigError([Mistake("--wait", f"{text!r} is above 24 h", "use 24h or less")])
    return seconds


wait_option = click.option(
    "--wait",
    "wait_s",
    callback=_seconds,
    metavar="10min",
    help="Wait so long at most until the machine is quiet: before the first trial, and after each"
    " attempt that a busy machine made invalid. Default: begin at once, and wait some seconds after"
    " such an attempt.",
)
