"""The corpus: real pages from npm and Debian packages, as listed in ``corpus.toml``.

A page is the one in its package, repaired (:mod:`httpbed.addons.pages.sites.repair`). The page's
text shows which files a cold load requests, with three exceptions that depend on the browser: fonts
and background images are requested when something is drawn with them, and scripts may request
anything. ``corpus.toml`` lists those as a browser requested them (``also``, ``never``).

A Debian suite changes. If a suite has a newer version of a package, httpbed still makes the page
and compares the site's digest. It refuses a site with another digest, because the listed requests
and bytes would be wrong.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import Field

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import content_types, packages, repair
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.packages import Package, Tree
from httpbed.addons.pages.sites.site import Outline, Say, Site, file_of, url_path, write_files
from httpbed.base.errors import HostError
from httpbed.base.value import Value
from httpbed.experiment.workload import OWN_ORIGIN


class Share(Value):
    """Requests and bytes of one kind of resource on a page."""

    requests: int
    bytes: int


class CorpusPage(Value):
    """A page of the corpus."""

    package: str
    """Key of its package in the list."""
    entry: Annotated[str, Field(pattern="^/")]
    """Path of its document."""
    images: tuple[int, int] | None = None
    """Range of the images that the page keeps, in the order of its text: first, and last + 1."""
    also: list[str] = Field(default_factory=list)
    """Paths that a cold load requests although the page's text does not show it."""
    never: list[str] = Field(default_factory=list)
    """Paths that a cold load does not request although the page's text suggests it."""
    groups: list[str] = Field(default_factory=list)
    """Sets of pages that a study loads."""
    requests: int = 0
    weight: int = 0
    """Bytes of all bodies of a cold load."""
    sha256: str = ""
    """Digest of the site."""
    by_type: dict[str, Share] = Field(default_factory=dict)
    """Share of each kind of resource (:data:`httpbed.addons.pages.sites.content_types.KINDS`)."""


class Corpus(Value):
    """All packages and pages of the corpus."""

    schema_: Annotated[int, Field(ge=1, le=1, alias="schema")]
    packages: dict[str, Package]
    sites: dict[str, CorpusPage]


@functools.cache
def read() -> Corpus:
    """Read ``corpus.toml``."""
    file = resources.files(__package__).joinpath("corpus.toml")
    return Corpus.model_validate(tomllib.loads(file.read_text("utf-8")))


def group(name: str) -> list[str]:
    """List the pages of a group, in the order of the corpus."""
    return [page for page, entry in read().sites.items() if name in entry.groups]


MAX_TEXT_BYTES = 2**26
"""Larger pages and style sheets are copied without repair."""
NAMES: Collection[str] = tuple(read().sites)


def outline(page: NamedPage, folder: Path) -> Outline:
    """Return the listed figures of a page."""
    del folder
    entry = read().sites[page.name]
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
    known = read()
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
        if kind.startswith(("text/html", "text/css")) and len(body) <= MAX_TEXT_BYTES:
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
