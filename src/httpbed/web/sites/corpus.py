"""Real pages from packages of npm and Debian, pinned by version and digest: ``corpus.toml``.

A page is what its package has, repaired (:mod:`httpbed.web.sites.repair`). Which files a cold load
asks for follows from the page's text, except what depends on the browser: fonts and background
images are asked for where something is drawn with them, and scripts ask for what they like. Those
stand in ``corpus.toml`` as a browser asked for them (``also``, ``never``).

Debian's packages are in a suite that moves. A page whose package has moved on is made all the same
where its site comes out as it was; where it does not, it is refused, for what is known of it (which
files a load asks for, how many bytes) would not be true of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.experiment.page import OWN_ORIGIN, NamedPage
from httpbed.web.sites import package as packages
from httpbed.web.sites import repair, types
from httpbed.web.sites import site as sites
from httpbed.web.sites.builder import Outline, Say
from httpbed.web.sites.entries import CorpusPage, Package, read
from httpbed.web.sites.package import Tree
from httpbed.web.sites.site import Site
from httpbed.web.sites.write import file_of, lay

MOST_TEXT_BYTES = 2**26


NAMES: Collection[str] = tuple(read().sites)


def group(name: str) -> list[str]:
    """List the pages of a group, in the order of the corpus."""
    return [page for page, entry in read().sites.items() if name in entry.groups]


def outline(page: NamedPage, folder: Path) -> Outline:
    """Tell what is known of a page."""
    del folder
    entry = read().sites[page.name]
    return Outline(
        name=page.name,
        version=entry.sha256,
        requests=entry.requests,
        weight=entry.weight,
        entry=entry.entry,
        sha256=entry.sha256,
        drawn=False,
    )


def make(page: NamedPage, seed: int, folder: Path, into: Path, say: Say) -> Site:
    """Fetch a page's package where it is not there yet, and write its site.

    Raises:
        HostError: The package cannot be had, or gives another site than the pinned one.
    """
    del seed, folder
    corpus = read()
    entry = corpus.sites[page.name]
    package = corpus.packages[entry.package]
    fetched = packages.fetch(package, say)
    site = build(page.name, entry, package, fetched.tree, into)
    if site.digest != entry.sha256:
        raise HostError(
            f"site {page.name} changed: digest {site.digest}, pinned {entry.sha256}"
            + (f" ({fetched.note})" if fetched.note else ""),
            "choose another page (httpbed pages), or take the site from the cache of a machine that"
            " has it; a newer httpbed may have pinned the new version",
        )
    if fetched.note:
        say(f"{page.name}: {fetched.note}; the site is the same")
    return site


def build(name: str, entry: CorpusPage, package: Package, tree: Tree, into: Path) -> Site:
    """Write the site of a page as its package has it, and return its list."""
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
        resources=lay(sorted(closure.bodies.items()), dict.fromkeys(closure.asked, 1), into),
    )


@dataclass
class _Closure:
    """Everything that a page needs, found from its document on."""

    tree: Tree
    files: repair.FileIndex
    entry: CorpusPage
    bodies: dict[str, bytes] = field(default_factory=dict)
    """By path in a URL, decoded and without a query."""
    asked: dict[str, None] = field(default_factory=dict)
    """Paths in URLs that a cold load asks for."""
    changes: list[str] = field(default_factory=list)
    images: dict[str, None] = field(default_factory=dict)

    def follow(self) -> None:
        """Find all of it."""
        todo = [(self.entry.entry, True), *((path, True) for path in self.entry.also)]
        while todo:
            url, asked = todo.pop(0)
            if asked and url not in self.entry.never:
                self.asked[url] = None
            path = file_of(url)
            if path in self.bodies or path not in self.tree.paths:
                continue
            repaired = self._repaired(path, self.tree.read(path))
            todo += [(one.path, asked and one.kind != "perhaps") for one in repaired.references]
        if self.entry.images:
            first, end = self.entry.images
            self.changes.append(f"of {len(self.images)} images {first + 1} to {end} are kept")

    def _repaired(self, path: str, body: bytes) -> repair.Repaired:
        kind = types.of(path)
        done = repair.Repaired("")
        if kind.startswith(("text/html", "text/css")) and len(body) <= MOST_TEXT_BYTES:
            text = body.decode("utf-8", "surrogateescape")
            finder = repair.SiteLinks(repair.as_url(path), self.files)
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
