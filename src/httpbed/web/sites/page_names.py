"""Pages that have a name: whose each is."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import NamedPage
from httpbed.web.sites import corpus, ranjan, zhang
from httpbed.web.sites.builder import Maker, Outline, Say
from httpbed.web.sites.site import Site


class NamedPagesMaker(Maker, Protocol):
    """A maker that gives its pages names, which no other may give."""

    NAMES: Collection[str]


MAKERS: tuple[NamedPagesMaker, ...] = (corpus, ranjan, zhang)


def outline(page: NamedPage, folder: Path) -> Outline:
    """Tell what is known of a page.

    Raises:
        ConfigError: None has this name.
    """
    return _maker(page.name).outline(page, folder)


def make(page: NamedPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Write a page's site."""
    return _maker(page.name).make(page, seed, folder, into, say)


def names() -> list[str]:
    """List the names of all such pages."""
    return [name for maker in MAKERS for name in maker.NAMES]


def _maker(name: str) -> NamedPagesMaker:
    for maker in MAKERS:
        if name in maker.NAMES:
            return maker
    alike = difflib.get_close_matches(name, names(), 3) or names()
    raise ConfigError([Mistake("name", f"no page is named {name!r}", f"try {', '.join(alike)}")])
