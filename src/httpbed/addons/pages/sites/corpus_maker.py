"""Makes the sites of the corpus from packages of npm and Debian, pinned by version and digest.

A page is the one in its package, repaired (:mod:`httpbed.addons.pages.sites.repair`). The page's
text shows which files a cold load requests, with three exceptions that depend on the browser: fonts
and background images are requested when something is drawn with them, and scripts may request
anything. ``corpus.toml`` lists those as a browser requested them (``also``, ``never``).

A Debian suite changes. If a suite has a newer version of a package, httpbed still makes the page
and compares the site's digest. It refuses a site with another digest, because the listed requests
and bytes would be wrong.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import content_types, corpus, packages, repair
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.corpus import CorpusPage, Package
from httpbed.addons.pages.sites.maker import Outline, Say
from httpbed.addons.pages.sites.packages import Tree
from httpbed.addons.pages.sites.site import Site, file_of, url_path, write_files
from httpbed.base.errors import HostError
from httpbed.experiment.workload import OWN_ORIGIN

MOST_TEXT_BYTES = 2**26
"""Larger pages and style sheets are copied without repair."""
NAMES: Collection[str] = tuple(corpus.read().sites)


def outline(page: NamedPage, folder: Path) -> Outline:
    """Return the listed figures of a page."""
    del folder
    entry = corpus.read().sites[page.name]
    return Outline(
        name=page.name,
        version=entry.sha256,
        requests=entry.requests,
        weight=entry.weight,
        entry=entry.entry,
        sha256=entry.sha256,
        uses_seed=False,
    )


def make(page: NamedPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Fetch a page's package unless it is cached, and write its site.

    Raises:
        HostError: The package is not available, or its site is not the pinned one.
    """
    del seed, folder
    known = corpus.read()
    entry = known.sites[page.name]
    package = known.packages[entry.package]
    fetched = packages.fetch(package, say)
    site = build(page.name, entry, package, fetched.tree, into)
    if site.digest != entry.sha256:
        raise HostError(
            f"site {page.name} changed: digest {site.digest}, pinned {entry.sha256}"
            + (f" ({fetched.note})" if fetched.note else ""),
            "choose another page (httpbed pages), copy the site from another machine's cache, or"
            " install a newer httpbed, which may have pinned the new version",
        )
    if fetched.note:
        say(f"{page.name}: {fetched.note}; the site is the same")
    return site


def build(name: str, entry: CorpusPage, package: Package, tree: Tree, into: Path) -> Site:
    """Write a page's site from the files of its package, and return the site's list."""
    if entry.entry.lstrip("/") not in tree.paths:
        reason = f"site {name} changed: {package} has no {entry.entry}"
        raise HostError(reason, "choose another page (httpbed pages)")
    closure = _Closure(tree, repair.FileIndex(tree.paths), entry)
    closure.follow()
    return Site(
        schema=sites.SCHEMA,
        name=name,
        source="; ".join([str(package), *closure.changes]),
        entry=entry.entry,
        origins=[OWN_ORIGIN],
        resources=write_files(
            sorted(closure.bodies.items()), dict.fromkeys(closure.requested, 1), into
        ),
    )


@dataclass
class _Closure:
    """The files that a page needs, found by following references from its document."""

    tree: Tree
    files: repair.FileIndex
    entry: CorpusPage
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Decoded path without a query -> body."""
    requested: dict[str, None] = field(default_factory=dict)
    """URL paths that a cold load requests, in order."""
    changes: list[str] = field(default_factory=list)
    images: dict[str, None] = field(default_factory=dict)

    def follow(self) -> None:
        """Follow all references."""
        todo = [(self.entry.entry, True), *((path, True) for path in self.entry.also)]
        while todo:
            url, is_requested = todo.pop(0)
            if is_requested and url not in self.entry.never:
                self.requested[url] = None
            path = file_of(url)
            if path in self.bodies or path not in self.tree.paths:
                continue
            repaired = self._repaired(path, self.tree.read(path))
            todo += [
                (one.path, is_requested and one.kind != "perhaps") for one in repaired.references
            ]
        if self.entry.images:
            first, end = self.entry.images
            self.changes.append(f"of {len(self.images)} images {first + 1} to {end} are kept")

    def _repaired(self, path: str, body: bytes) -> repair.Repaired:
        kind = content_types.of(path)
        done = repair.Repaired("")
        if kind.startswith(("text/html", "text/css")) and len(body) <= MOST_TEXT_BYTES:
            text = body.decode("utf-8", "surrogateescape")
            finder = repair.SiteLinks(url_path(path), self.files)
            if kind == "text/css":
                done = repair.sheet(text, finder)
            else:
                done = repair.page(text, finder, self._keeps)
            body = done.text.encode("utf-8", "surrogateescape")
        self.bodies[path] = body
        self.changes += [f"/{path}: {change}" for change in done.changes]
        return done

    def _keeps(self, image: str) -> bool:
        if self.entry.images is None:
            return True
        self.images.setdefault(image)
        first, end = self.entry.images
        return first <= list(self.images).index(image) < end
