"""The user's own page, as a folder of files and a ``site.json``: read, checked and copied.

The folder is untrusted. No link out of it is followed, and every file must have its listed digest,
so that a changed page is reported before anything runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from httpbed.addons.pages.page import FolderPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Outline, Say, Site
from httpbed.base.errors import ConfigError, Mistake


def outline(page: FolderPage, folder: Path) -> Outline:
    """Return what is known of a page.

    Raises:
        ConfigError: With every mistake in its folder.
    """
    site = checked(folder / page.folder)
    return Outline(
        name="mirrored",
        version=site.digest,
        requests=site.requests(),
        weight=site.weight(),
        entry=site.entry,
        origins=tuple(site.origins),
        sha256=site.digest,
        uses_seed=False,
    )


def make(page: FolderPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Copy a page's files, so that later changes do not affect the campaign.

    Raises:
        ConfigError: With every mistake in its folder.
    """
    del seed, say
    source = folder / page.folder
    site = checked(source)
    for name in dict.fromkeys(one.file for one in site.resources):
        target = into / sites.FILES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / sites.FILES / name, target, follow_symlinks=False)
    return site


def checked(folder: Path) -> Site:
    """Read a mirrored page, and compare every file with its list.

    Raises:
        ConfigError: With every mistake; all places are the experiment's ``folder``.
    """
    try:
        site = sites.read(folder)
        wrong = [*_mistakes(site, folder)]
    except ConfigError as error:
        wrong = list(error.mistakes)
    if wrong:
        raise ConfigError(
            Mistake("folder", f"{one.place}: {one.reason}", one.remedy) for one in wrong
        )
    return site


def _mistakes(site: Site, folder: Path) -> Iterator[Mistake]:
    again = "mirror the page again, or undo the change"
    if site.recorded or any(one.answer for one in site.resources):
        yield Mistake(str(folder), "is a recorded site", "name its HAR file: page = { har = ... }")
    for one in sites.changed(site, folder):
        yield Mistake(one.file, "differs from the mirrored file", again)
