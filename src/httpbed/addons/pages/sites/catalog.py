"""Every page an experiment can load: its maker, its outline, and its site in the cache."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from httpbed.addons.pages.page import KnownPage, NamedPage, RecordedPage, SyntheticPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Maker, NamedPagesMaker, Outline, Say, Site
from httpbed.base import disk, folders
from httpbed.base.errors import ConfigError, Mistake, did_you_mean

NAMED_PAGES = ("corpus", "generated.biswal", "generated.ranjan", "generated.zhang")
"""Makers of the pages that experiments load by name; no two makers share a name.

A maker is a module of this package, imported for the first page that it may make: makers import
Pillow, fontTools or the reader of HAR files, and an experiment of downloads needs none of them.
"""
MAKERS: Mapping[type[KnownPage], str] = {
    SyntheticPage: "generated.synthetic",
    RecordedPage: "replay.har_site",
}
"""Makers of all other kinds of pages."""


@dataclass(frozen=True)
class CachedSite:
    """A site in the cache, and its folder."""

    site: Site
    folder: Path


def names() -> list[str]:
    """List the names of all pages that experiments load by name."""
    return [name for maker in named_pages() for name in maker.NAMES]


def named_pages() -> Iterator[NamedPagesMaker]:
    """Yield the makers of the pages that experiments load by name."""
    for module in NAMED_PAGES:
        yield import_module(f"{__package__}.{module}")


def outline(page: KnownPage, folder: Path) -> Outline:
    """Return what is known of a page before its site is made.

    File names in ``page`` are relative to ``folder``.

    Raises:
        ConfigError: With every mistake; its places are relative to the page's table.
    """
    return _maker(page).outline(page, folder)


def ensure(page: KnownPage, seed: int, folder: Path, say: Say) -> CachedSite:
    """Return a page's site from the cache; make it if it is missing or any file has changed.

    Raises:
        HostError: The site cannot be made on this machine now.
        ConfigError: The site is not the one that the experiment names.
    """
    maker = _maker(page)
    known = maker.outline(page, folder)
    parent = folders.cache() / "sites"
    parent.mkdir(parents=True, exist_ok=True)
    final = parent / f"{known.name}-{_key(page, known.version, seed if known.uses_seed else None)}"
    if (whole := _undamaged(final)) is not None:
        return _verified(page, CachedSite(whole, final))
    with tempfile.TemporaryDirectory(dir=parent, prefix=".making-") as scratch:
        into = Path(scratch, "site")
        sites.served(into).mkdir(parents=True)
        sites.write(maker.make(page, seed, folder, into, say), into)
        disk.let_read(into)
        _move(into, final, Path(scratch, "damaged"))
    return _verified(page, CachedSite(sites.read(final), final))


def cached(page: KnownPage, seed: int) -> CachedSite | None:
    """Return the site of a page that a trial loaded, if it is in the cache; make nothing.

    The page is the trial's own, so it has its digest or version, and no file of the user is read.
    """
    keys = [_key(page, page.version or "", one) for one in (seed, None)]
    for folder in (folders.cache() / "sites").glob("*"):
        if not (page.sha256 or folder.name.endswith(tuple(keys))):
            continue
        whole = _undamaged(folder)
        if whole is not None and page.sha256 in (None, whole.digest):
            return CachedSite(whole, folder)
    return None


def _verified(page: KnownPage, cached: CachedSite) -> CachedSite:
    """Return the site, ready to be served, if it has the digest that the experiment names."""
    digest = cached.site.digest
    if page.sha256 not in (None, digest):
        remedy = "delete sha256, or restore the page that it was taken from"
        reason = f"is {page.sha256}, but the site's digest is {digest}"
        raise ConfigError([Mistake("sha256", reason, remedy)])
    disk.fix_times_below(cached.folder / sites.FILES)
    return cached


def _maker(page: KnownPage) -> Maker:
    if isinstance(page, NamedPage):
        return _maker_of_name(page.name)
    if type(page) not in MAKERS:
        raise ConfigError(
            [Mistake("", f"httpbed cannot make a page of kind {type(page).__name__}")]
        )
    maker: Maker = import_module(f"{__package__}.{MAKERS[type(page)]}")
    return maker


def _maker_of_name(name: str) -> Maker:
    for maker in named_pages():
        if name in maker.NAMES:
            return maker
    remedy = did_you_mean(name, names(), "httpbed pages lists them", most=3)
    remedy += " " if remedy.endswith("?") else "; "
    remedy += "your own page is a HAR file, which httpbed pages mirror URL -o NAME.har records"
    raise ConfigError([Mistake("name", f"no page is named {name!r}", remedy)])


def _key(page: KnownPage, version: str, seed: int | None) -> str:
    """Return the cache key of a site: a digest of what it is made from.

    Neither what an author states about the page nor where the user keeps it counts.
    """
    excluded = {*KnownPage.model_fields, "har"}
    made_from: Mapping[str, Any] = {
        "page": page.model_dump(mode="json", exclude=excluded),
        "kind": type(page).__name__,
        "version": version,
        "seed": seed,
    }
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:12]


def _move(built: Path, final: Path, aside: Path) -> None:
    """Move a site into the cache, unless another process has put the same one there."""
    try:
        built.rename(final)
    except OSError:
        if _undamaged(final) is None:
            final.rename(aside)
            built.rename(final)


def _undamaged(folder: Path) -> Site | None:
    """Return the site in a folder if all its files have their digests; else None."""
    try:
        site = sites.read(folder)
        is_whole = sites.has_prior(folder) and not any(sites.changed(site, folder))
    except (OSError, ValueError):
        return None
    return site if is_whole else None
