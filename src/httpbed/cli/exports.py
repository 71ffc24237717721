"""The forms in which ``httpbed export`` writes campaigns: tables, and what addons add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.base.addon import Seam

if TYPE_CHECKING:  # it imports pyarrow
    from httpbed.store.results import Results

TABLES = ("csv", "parquet")


@dataclass(frozen=True)
class Export:
    """A form in which an addon writes campaigns into a folder."""

    name: str
    help: str
    """What it is, for ``--help``."""
    what: str
    """What the folder gets, for the messages of mistakes."""
    formats: tuple[str, ...] = ()
    """The values of ``--format`` that choose it; empty: ``--NAME`` does."""
    takes_several: bool = False
    """Whether it writes several campaigns together."""
    write: Callable[[Sequence[Results], str, Path], Iterable[str]] = field(kw_only=True)
    """Writes campaigns in a format into a folder; yields lines for the terminal."""

    @property
    def given(self) -> str:
        """The option that chooses it, as mistakes name it."""
        return f"--{self.name}"


EXPORTS = Seam("exports", Export)
