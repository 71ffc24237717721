"""The programs and recipes that come with httpbed: the core's, and those that addons bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from httpbed.base.addon import Seam


@dataclass(frozen=True)
class AddedPrograms:
    """What an addon brings, in a package of its own."""

    name: str
    package: str
    """Its folders ``recipes`` and ``builtin``: programs that recipes start in a part."""
    parsers: Mapping[str, str]
    """A parser's name in recipes -> ``module:function`` of the recipe's file."""


ADDED_PROGRAMS = Seam("programs", AddedPrograms)


def shipped_folders(name: str) -> list[Traversable]:
    """Return the folders of this name: the core's, and those of addons."""
    packages = ["httpbed.programs", *(programs.package for programs in ADDED_PROGRAMS.provided())]
    folders = (resources.files(package) / name for package in packages)
    return [folder for folder in folders if folder.is_dir()]


@cache
def shipped_programs() -> dict[str, Traversable]:
    """Return the programs that recipes may start, a file or a folder each, by name."""
    every = (file for folder in shipped_folders("builtin") for file in folder.iterdir())
    return {file.name: file for file in every if not file.name.startswith("_")}
