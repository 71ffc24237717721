"""The file that ``-o`` names, for verbs that write about a campaign."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.host import user_file
from httpbed.host.user_file import Kind
from httpbed.store import layout

FIGURES = {
    ".svg": Kind("an SVG figure", re.compile(rb"<\?xml .{0,200}<!DOCTYPE svg|<svg ", re.DOTALL)),
    ".pdf": Kind("a PDF file", re.compile(rb"%PDF-")),
    ".png": Kind("a PNG file", re.compile(rb"\x89PNG")),
}
"""Figures by the end of their file's name."""
_DRAWN = Kind(
    "a figure that httpbed drew",
    re.compile(rb"<\?xml .{0,900}<dc:title>httpbed</dc:title>", re.DOTALL),
)


def require(output: Path, kind: Kind, directory: Path | None = None, *, option: str = "-o") -> None:
    """Raise ConfigError if a verb must not or cannot write ``output``.

    Args:
        output: The file to write.
        kind: What is written; a file of another kind is not replaced.
        directory: The campaign, whose own files must not be replaced.
        option: The option that names the file.
    """
    if str(output) == "-":  # other programs write to stdout then
        raise _refusal(output, "names no file", "name another one", option)
    if output.is_dir():
        raise _refusal(output, "is a folder", "name a file", option)
    if not output.parent.is_dir():
        raise _refusal(output, "its folder does not exist", "create it first", option)
    if directory:
        _require_foreign(output, directory, "name another file")
    if reason := user_file.unlike(output, kind):
        raise _refusal(output, reason, "name another file, or delete this one", option)


def require_folder(output: Path, directory: Path) -> None:
    """Raise ConfigError if ``output`` is not a folder, or belongs to the campaign itself."""
    if output.exists() and not output.is_dir():
        raise _refusal(output, "is not a folder", "name a folder")
    _require_foreign(output, directory, "name another folder")


def require_figure(option: str, file: Path) -> None:
    """Raise ConfigError if a figure cannot be written there, or its name says no known format."""
    kind = FIGURES.get(file.suffix)
    if kind is None:
        remedy = f"write for example {file.parent / (file.stem or 'figure')}.svg"
        known = ", ".join(FIGURES)
        raise ConfigError([Mistake(f"{option} {file}", f"must end with one of {known}", remedy)])
    require(file, kind, option=option)


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


def require_new_folder(option: str, folder: Path | None) -> None:
    """Raise ConfigError if a folder that a verb makes exists, or lies below a file."""
    if mistakes := new_folder_mistakes(option, folder):
        raise ConfigError(mistakes)


def new_folder_mistakes(option: str, folder: Path | None) -> list[Mistake]:
    """Return why a verb cannot make a folder; nothing if it can, or if there is none to make."""
    if folder is None:
        return []
    place = f"{option} {folder}"
    if os.path.lexists(folder):
        return [Mistake(place, "exists already", "name a new folder")]
    nearest = next(one for one in folder.parents if os.path.lexists(one))
    if nearest.is_dir():
        return []
    return [Mistake(place, f"{nearest} is not a folder", "name another folder")]


def require_kinds(folder: Path, kinds: Mapping[str, Kind]) -> None:
    """Raise ConfigError if one of these files in a folder exists and is of another kind."""
    if mistakes := kind_mistakes(folder, kinds):
        raise ConfigError(mistakes)


def kind_mistakes(folder: Path, kinds: Mapping[str, Kind]) -> list[Mistake]:
    """Return a mistake for each of these files that exists in a folder and is of another kind."""
    if folder.exists() and not folder.is_dir():
        return [Mistake(f"-o {folder}", "is not a folder", "name a folder")]
    return [
        Mistake(f"-o {folder / name}", reason, "name another folder, or delete this file")
        for name, kind in kinds.items()
        if (reason := user_file.unlike(folder / name, kind))
    ]


def _require_foreign(output: Path, directory: Path, remedy: str) -> None:
    if layout.is_own_file(directory, output):
        raise _refusal(output, "is part of the campaign", remedy)


def _refusal(output: Path, reason: str, remedy: str, option: str = "-o") -> ConfigError:
    return ConfigError([Mistake(f"{option} {output}", reason, remedy)])
