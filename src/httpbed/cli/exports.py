"""The forms in which ``httpbed export`` writes campaigns: tables, and what addons add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from httpbed.base.addon import Seam
from httpbed.base.user_file import Kind

if TYPE_CHECKING:  # it imports pyarrow
    from httpbed.store.results import Results

TABLES = ("csv", "parquet")


@dataclass(frozen=True)
class ExportChoice:
    """What a command line wants of an addon's form."""

    kind: str
    """Value of ``--format``; empty if none was given."""
    output: Path | None

    @property
    def folder(self) -> Path:
        """The folder of ``-o``, which every form of several files needs."""
        return self.output or Path()


@dataclass(frozen=True)
class Export:
    """A form in which an addon writes campaigns into a folder, or one campaign as one file."""

    name: str
    help: str
    """What it is, for ``--help``."""
    what: str
    """What the folder or file gets, for the messages of mistakes."""
    formats: tuple[str, ...] = ()
    """The values of ``--format`` that choose it; empty: ``--NAME`` does."""
    is_one_file: Kind | None = None
    """The file that ``-o`` names, which is printed without it; None: ``-o`` names a folder."""
    takes_several: bool = False
    """Whether it writes several campaigns together."""
    write: Callable[[Sequence[Results], ExportChoice], Iterable[str]] = field(kw_only=True)
    """Writes campaigns; yields lines for the terminal."""

    @property
    def given(self) -> str:
        """The option that chooses it, as mistakes name it."""
        return f"--{self.name}"


EXPORTS = Seam("exports", Export)
