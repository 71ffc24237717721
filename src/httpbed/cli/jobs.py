"""The option ``--jobs``: how many trials run at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from httpbed.base.errors import RejectedValueError
from httpbed.campaign import parallelism
from httpbed.campaign.parallelism import Parallelism

AUTO = "auto"
MOST = 64


class JobsType(click.ParamType[Parallelism]):
    """A number of trials, or ``auto``."""

    name = "N|auto"

    def convert(
        self, value: str | Parallelism, param: click.Parameter | None, ctx: click.Context | None
    ) -> Parallelism:
        """Return the parallelism; reject any other word."""
        del param, ctx
        if isinstance(value, Parallelism):
            return value
        if value == AUTO:
            return parallelism.adapted()
        if not value.isdecimal() or not 1 <= int(value) <= MOST:
            reason = f"{value!r} is neither a number from 1 to {MOST} nor {AUTO}"
            raise RejectedValueError(reason)
        return Parallelism(int(value))


def jobs_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the option with its help; the default is as many as do not disturb each other."""
    return click.option(
        "--jobs",
        type=JobsType(),
        metavar=JobsType.name,
        default=AUTO,
        show_default=True,
        help=text,
    )
