"""The programs that come with httpbed: the core's, and those that addons bring."""

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
    """It has the folders ``recipes`` and ``builtin``: programs that recipes start in a part."""
    parsers: Mapping[str, str]
    """A parser's name in recipes -> ``module:function`` of the recipe's file."""


ADDED_PROGRAMS = Seam("programs", AddedPrograms)


def folders(name: str) -> list[Traversable]:
    """Return the folders of this name: the core's, and those of addons."""
    packages = ["httpbed.programs", *(one.package for one in ADDED_PROGRAMS.provided())]
    return [resources.files(package) / name for package in packages]


@cache
def programs() -> dict[str, Traversable]:
    """Return the programs that recipes may start, a file or a folder each, by name."""
    every = (one for folder in folders("builtin") for one in folder.iterdir())
    return {one.name: one for one in every if not one.name.startswith("_")}
