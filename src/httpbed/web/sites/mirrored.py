"""A user's own page, as ``httpbed mirror`` left it in a folder: read, checked, and copied.

The folder may have come from anywhere. Nothing in it is followed out of it, and every file must be
the one that its list names, so that a page that was changed by hand is told before anything runs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import FolderPage
from httpbed.web.sites import site as sites
from httpbed.web.sites.maker import Outline, Say
from httpbed.web.sites.site import Site


def outline(page: FolderPage, folder: Path) -> Outline:
    """Tell what is known of a page.

    Raises:
        ConfigError: With everything that is wrong in its folder.
    """
    found = checked(folder / page.folder)
    return Outline(
        name="mirrored",
        version=found.digest,
        requests=found.requests(),
        weight=found.weight(),
        entry=found.entry,
        origins=tuple(found.origins),
        sha256=found.digest,
        uses_seed=False,
    )


def make(page: FolderPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Copy a page's files, so that a campaign goes on from what it began with.

    Raises:
        ConfigError: With everything that is wrong in its folder.
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
        ConfigError: With everything that is wrong; all places are of the experiment's ``folder``.
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
    again = "mirror the page again, or undo what was changed in its folder"
    if site.recorded or any(one.answer for one in site.resources):
        yield Mistake(str(folder), "is a recorded site", "name its HAR file: page = { har = ... }")
    for one in sites.changed(site, folder):
        yield Mistake(one.file, "is another file than the one that was mirrored", again)
