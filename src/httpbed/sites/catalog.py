"""Every page: who makes it, what is known of it before, and its site in the cache."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.host import cache
from httpbed.model.errors import ConfigError, Mistake
from httpbed.model.page import FolderPage, KnownPage, NamedPage, RecordedPage, SyntheticPage
from httpbed.sites import mirrored, named, recorded, synthetic
from httpbed.sites import site as sites
from httpbed.sites.making import Maker, Outline, Say
from httpbed.sites.site import Site

MAKERS: Mapping[type[KnownPage], Maker] = {
    NamedPage: named,
    SyntheticPage: synthetic,
    FolderPage: mirrored,
    RecordedPage: recorded,
}
"""By the kind of page."""


@dataclass(frozen=True)
class Stored:
    """A site in the cache."""

    site: Site
    folder: Path


def outline(page: KnownPage, folder: Path) -> Outline:
    """Tell what is known of a page; names of files are relative to ``folder``.

    Raises:
        ConfigError: With every mistake; its places are relative to the page's table.
    """
    return _maker(page).outline(page, folder)


def ensure(page: KnownPage, seed: int, folder: Path, say: Say) -> Stored:
    """Return a page's site, made now if it was not there or is damaged.

    Raises:
        HostError: It cannot be made here, or not today.
        ConfigError: It is not what the experiment says.
    """
    maker = _maker(page)
    known = maker.outline(page, folder)
    parent = cache.folder() / "sites"
    parent.mkdir(parents=True, exist_ok=True)
    final = parent / f"{known.name}-{_key(page, known, seed)}"
    try:
        return Stored(sites.read(final), final)
    except ConfigError:
        pass
    with tempfile.TemporaryDirectory(dir=parent, prefix=".making-") as scratch:
        into = Path(scratch, "site")
        sites.served(into).mkdir(parents=True)
        sites.write(maker.make(page, seed, folder, into, say), into)
        into.chmod(0o755)
        _put(into, final, Path(scratch, "damaged"))
    return Stored(sites.read(final), final)


def _maker(page: KnownPage) -> Maker:
    if type(page) not in MAKERS:
        raise ConfigError([Mistake("", "nobody can make such a page")])
    return MAKERS[type(page)]


def _key(page: KnownPage, known: Outline, seed: int) -> str:
    said: Mapping[str, Any] = {
        "page": page.model_dump(mode="json"),
        "version": known.version,
        "seed": seed if known.drawn else None,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def _put(made: Path, final: Path, aside: Path) -> None:
    """Move a site to its place; whoever was faster has made the same."""
    try:
        made.rename(final)
    except OSError:
        try:
            sites.read(final)
        except ConfigError:
            final.rename(aside)
            made.rename(final)
