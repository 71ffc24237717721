"""The file that ``-o`` names, for verbs that write about a campaign."""

from __future__ import annotations

from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.host import user_file
from httpbed.host.user_file import Kind
from httpbed.store import layout


def require(output: Path, kind: Kind, directory: Path) -> None:
    """Raise ConfigError if a verb must not or cannot write ``output``.

    Args:
        output: The file to write.
        kind: What is written; a file of another kind is not replaced.
        directory: The campaign, whose own files must not be replaced.
    """
    if output.is_dir():
        raise _refusal(output, "is a folder", "name a file")
    if not output.parent.is_dir():
        raise _refusal(output, "its folder does not exist", "create it first")
    _require_foreign(output, directory, "name another file")
    if reason := user_file.unlike(output, kind):
        raise _refusal(output, reason, "name another file, or delete this one")


def require_folder(output: Path, directory: Path) -> None:
    """Raise ConfigError if ``output`` is not a folder, or belongs to the campaign itself."""
    if output.exists() and not output.is_dir():
        raise _refusal(output, "is not a folder", "name a folder")
    _require_foreign(output, directory, "name another folder")


def _require_foreign(output: Path, directory: Path, remedy: str) -> None:
    if layout.is_own_file(directory, output):
        raise _refusal(output, "is part of the campaign", remedy)


def _refusal(output: Path, reason: str, remedy: str) -> ConfigError:
    return ConfigError([Mistake(f"-o {output}", reason, remedy)])
