"""Every page: who makes it, what is known of it before, and its site in the cache."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import FolderPage, KnownPage, NamedPage, RecordedPage, SyntheticPage
from httpbed.host import folders
from httpbed.web.sites import mirrored, page_names, replayed, synthetic
from httpbed.web.sites import site as sites
from httpbed.web.sites.builder import Maker, Outline, Say
from httpbed.web.sites.site import Site

MAKERS: Mapping[type[KnownPage], Maker] = {
    NamedPage: page_names,
    SyntheticPage: synthetic,
    FolderPage: mirrored,
    RecordedPage: replayed,
}
"""By the kind of page."""


@dataclass(frozen=True)
class CachedSite:
    """A site in the cache."""

    site: Site
    folder: Path


def outline(page: KnownPage, folder: Path) -> Outline:
    """Tell what is known of a page; names of files are relative to ``folder``.

    Raises:
        ConfigError: With every mistake; its places are relative to the page's table.
    """
    return _maker(page).outline(page, folder)


def ensure(page: KnownPage, seed: int, folder: Path, say: Say) -> CachedSite:
    """Return a page's site, made now if it was not there or any file is not what it was.

    Raises:
        HostError: It cannot be made here, or not today.
        ConfigError: It is not what the experiment says.
    """
    maker = _maker(page)
    known = maker.outline(page, folder)
    parent = folders.cache() / "sites"
    parent.mkdir(parents=True, exist_ok=True)
    final = parent / f"{known.name}-{_key(page, known, seed)}"
    if (whole := _whole(final)) is not None:
        return _said(page, CachedSite(whole, final))
    with tempfile.TemporaryDirectory(dir=parent, prefix=".making-") as scratch:
        into = Path(scratch, "site")
        sites.served(into).mkdir(parents=True)
        sites.write(maker.make(page, seed, folder, into, say), into)
        into.chmod(0o755)
        _put(into, final, Path(scratch, "damaged"))
    return _said(page, CachedSite(sites.read(final), final))


def _said(page: KnownPage, stored: CachedSite) -> CachedSite:
    """Return a site if it is the one that the experiment names."""
    digest = stored.site.digest
    if page.sha256 not in (None, digest):
        remedy = "leave it out, or go back to the page that it is of"
        raise ConfigError([Mistake("sha256", f"is {page.sha256}, the site's is {digest}", remedy)])
    return stored


def _maker(page: KnownPage) -> Maker:
    if type(page) not in MAKERS:
        raise ConfigError([Mistake("", "nobody can make such a page")])
    return MAKERS[type(page)]


def _key(page: KnownPage, known: Outline, seed: int) -> str:
    """Name a site by what it is of: not by what is known of it, nor by where the user has it."""
    elsewhere = {*KnownPage.model_fields, "folder", "har"}
    said: Mapping[str, Any] = {
        "page": page.model_dump(mode="json", exclude=elsewhere),
        "kind": type(page).__name__,
        "version": known.version,
        "seed": seed if known.drawn else None,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def _put(made: Path, final: Path, aside: Path) -> None:
    """Move a site to its place; whoever was faster has made the same."""
    try:
        made.rename(final)
    except OSError:
        if _whole(final) is None:
            final.rename(aside)
            made.rename(final)


def _whole(folder: Path) -> Site | None:
    """Return the site in a folder if every byte of it is there."""
    try:
        site = sites.read(folder)
    except ConfigError:
        return None
    return site if sites.has_prior(folder) and not any(sites.changed(site, folder)) else None
