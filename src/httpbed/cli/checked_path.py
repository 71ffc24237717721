"""Arguments that name a campaign or a file, and what is wrong with what they name.

A verb reads them itself. Beside another mistake of the command line, they are read for theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from httpbed.base.errors import ConfigError, Mistake

Check = Callable[[Path, click.Context], object]
"""Reads the path; raises ConfigError."""


class CheckedPath(click.Path):
    """A path that a verb reads."""

    def __init__(self, check: Check) -> None:
        super().__init__(path_type=Path)
        self._check = check

    def mistakes(self, path: Path, context: click.Context) -> Sequence[Mistake]:
        """Return what is wrong with what the path leads to."""
        try:
            self._check(path, context)
        except ConfigError as error:
            return error.mistakes
        return ()


def _open(path: Path, context: click.Context) -> None:
    from httpbed.store import campaign  # noqa: PLC0415 - only beside another mistake

    del context
    campaign.open_existing(path).design()


CAMPAIGN = CheckedPath(_open)
