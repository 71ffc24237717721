"""The file that ``-o`` names, for verbs that write about a campaign."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from httpbed.base import user_file
from httpbed.base.errors import ConfigError, Mistake, require_none
from httpbed.base.user_file import Kind
from httpbed.store import layout

_REPORT = Kind(
    "a report that httpbed wrote",
    re.compile(rb'<!doctype html>.{0,400}<meta name="generator" content="httpbed ', re.DOTALL),
)
_DRAWN = Kind(
    "a figure that httpbed drew",
    re.compile(rb"<\?xml .{0,900}<dc:title>httpbed</dc:title>", re.DOTALL),
)


def require(output: Path, kind: Kind, *, option: str = "-o") -> None:
    """Raise ConfigError if a verb must not or cannot write ``output``.

    Args:
        output: The file to write.
        kind: What is written; a file of another kind is not replaced.
        option: The option that names the file.
    """
    if str(output) == "-":  # other programs write to stdout then
        raise _refusal(output, "names no file", "name another one", option)
    if output.is_dir():
        raise _refusal(output, "is a folder", "name a file", option)
    if not output.parent.is_dir():
        require_none(folder_mistakes(option, output.parent))
        raise _refusal(output, "its folder does not exist", "create it first", option)
    _require_foreign(output, "name another file", option)
    if reason := user_file.unlike(output, kind):
        raise _refusal(output, reason, "name another file, or delete this one", option)


def require_folder(output: Path) -> None:
    """Raise ConfigError if ``output`` is not a folder, or is or belongs to a campaign."""
    if output.exists() and not output.is_dir():
        raise _refusal(output, "is not a folder", "name a folder")
    if layout.is_campaign(output):
        raise _refusal(output, "is a campaign", "name another folder")
    _require_foreign(output, "name another folder")


def require_report(directory: Path, output: Path | None = None) -> None:
    """Raise ConfigError if a report or its figures would replace files of another kind.

    Args:
        directory: The campaign.
        output: The report's file, if it is not in the campaign.
    """
    file, option = output or directory / layout.REPORT, "-o" if output else ""
    if output or layout.is_campaign(directory):  # else the verb refuses the folder
        require(file, _REPORT, option=option)
    figures = file.parent / layout.FIGURES
    if os.path.realpath(file.parent) != os.path.realpath(directory):
        require_figures(figures)
    else:
        require_own_figures(directory)
    if output is None and file.is_symlink():
        raise _refusal(file, "is a link, and the report is written there", "remove it", "")


def require_own_figures(directory: Path) -> None:
    """Raise ConfigError if the folder of a campaign's figures is a link."""
    figures = directory / layout.FIGURES
    if figures.is_symlink():
        raise _refusal(figures, "is a link, and figures are written there", "remove it", "")


def require_figures(folder: Path) -> None:
    """Raise ConfigError if a folder for a report's figures has figures that httpbed did not draw.

    A PDF file is known by the SVG file of its name.
    """
    found = [path for path in folder.glob("*") if path.suffix in {".svg", ".pdf"}]
    drawn = {path.stem for path in found if path.suffix == ".svg" and _is_drawn(path)}
    if foreign := sorted(path for path in found if path.stem not in drawn):
        reason = f"its figures go to {folder}, and httpbed did not draw {foreign[0].name} there"
        raise ConfigError([Mistake("-o", reason, "name a file in another folder")])


def _is_drawn(figure: Path) -> bool:
    return user_file.unlike(figure, _DRAWN) is None


def new_folder_mistakes(option: str, folder: Path | None) -> list[Mistake]:
    """Return why a verb cannot make a folder; nothing if it can, or if there is none to make."""
    if folder is None:
        return []
    if os.path.lexists(folder):
        return [Mistake(f"{option} {folder}", "exists already", "name a new folder")]
    return folder_mistakes(option, folder)


def folder_mistakes(option: str, folder: Path) -> list[Mistake]:
    """Return why a folder is none and cannot become one; nothing if it is or can."""
    place = f"{option} {folder}"
    if os.path.lexists(folder):
        return [] if folder.is_dir() else [Mistake(place, "is not a folder", "name a folder")]
    nearest = next(parent for parent in folder.parents if os.path.lexists(parent))
    if nearest.is_dir():
        return []
    return [Mistake(place, f"{nearest} is not a folder", "name another folder")]


def kind_mistakes(folder: Path, kinds: Mapping[str, Kind]) -> list[Mistake]:
    """Return a mistake for each of these files that exists in a folder and is of another kind."""
    if folder.exists() and not folder.is_dir():
        return [Mistake(f"-o {folder}", "is not a folder", "name a folder")]
    return [
        Mistake(f"-o {folder / name}", reason, "name another folder, or delete this file")
        for name, kind in kinds.items()
        if (reason := user_file.unlike(folder / name, kind))
    ]


def _require_foreign(output: Path, remedy: str, option: str = "-o") -> None:
    if layout.is_own_file(output):
        raise _refusal(output, "is part of a campaign", remedy, option)


def _refusal(output: Path, reason: str, remedy: str, option: str = "-o") -> ConfigError:
    place = f"{option} {output}" if option else str(output)
    return ConfigError([Mistake(place, reason, remedy)])
