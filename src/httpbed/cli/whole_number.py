"""A whole number within bounds, as the value of an option."""

from __future__ import annotations

from typing import Any

import click

from httpbed.base.errors import RejectedValueError


class WholeNumber(click.IntRange):
    """A whole number from ``least`` to ``most``; errors say what is accepted."""

    name = "N"

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)
        self._accepted = f"write a whole number from {least} to {most}"
        self._bounds = (least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; reject anything else."""
        del param, ctx
        least, most = self._bounds
        try:
            number = int(value)
        except ValueError:
            raise RejectedValueError(f"{value!r} is not a whole number", self._accepted) from None
        if number < least:
            raise RejectedValueError(f"{number} is below {least}", self._accepted)
        if number > most:
            raise RejectedValueError(f"{number} is above {most}", self._accepted)
        return number
