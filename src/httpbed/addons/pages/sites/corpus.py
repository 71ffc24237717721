"""The corpus: real pages from npm and Debian packages, as listed in ``corpus.toml``.

A page is the one in its package, repaired (:mod:`httpbed.addons.pages.sites.repair`). The page's
text shows which files a cold load requests, with three exceptions that depend on the browser: fonts
and background images are requested when something is drawn with them, and scripts may request
anything. ``corpus.toml`` lists those as a browser requested them (``also``, ``never``).

npm fetches a package, and neither installs nor runs it: this machine's npm, or that of a root
filesystem of the toolbox in a mount namespace whose /usr is that of the root. An npm package is a
tar file in the cache; only its regular files count. A Debian package is in a root filesystem of the
toolbox, with its dependencies, because documentation shares scripts through symbolic links. Links
are resolved inside of that root, and never lead out of it.

A Debian suite changes. If a suite has a newer version of a package, httpbed still makes the page
and compares the site's digest. It refuses a site with another digest, because the listed requests
and bytes would be wrong.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.repair import FileIndex, Reference, Repair
from httpbed.addons.pages.sites.site import (
    Outline,
    Say,
    Site,
    content_type,
    file_of,
    url_path,
    write_files,
)
from httpbed.base import disk, folders
from httpbed.base.errors import HostError
from httpbed.base.value import Value
from httpbed.bed.toolbox import debian, root_files, root_filesystem
from httpbed.experiment.workload import OWN_ORIGIN

MAX_TEXT_BYTES = 2**26
"""Larger pages and style sheets are copied without repair."""
TOOLS = root_filesystem.Contents("trixie", frozenset({"npm", "dash", "coreutils"}))
"""The root filesystem that is used if this machine has no npm."""
_TIME_LIMIT_S = 600
_MAX_FILES = 200_000
_MAX_FILE_BYTES = 2**28
_MAX_FOLDERS = 12
"""Depth of folders in a root: a link may lead to its own folder."""

PackageFiles = Mapping[str, bytes | Path]
"""The files below a package's top folder: path, and content or place."""


class Package(Value):
    """One version of a package in a registry."""

    registry: Literal["npm", "debian"]
    name: str
    version: str
    sha256: str
    """Digest of the package file."""
    suite: str = "trixie"
    """Debian suite."""
    top: str
    """Folder of the package that is served as ``/``."""

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


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
    """Share of each kind of resource (:data:`httpbed.addons.pages.sites.site.KINDS`)."""


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
    fetched = fetch(package, say)
    site = build(page.name, entry, package, fetched.files, into)
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


def build(name: str, entry: CorpusPage, package: Package, files: PackageFiles, into: Path) -> Site:
    """Write a page's site from the files of its package, and return the site's list."""
    if entry.entry.lstrip("/") not in files:
        reason = f"site {name} changed: {package} has no {entry.entry}"
        raise HostError(reason, "choose another page (httpbed pages)")
    closure = _Closure(files, FileIndex(files), entry)
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

    files: PackageFiles
    index: FileIndex
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
            if path in self.bodies or path not in self.files:
                continue
            found = self.files[path]
            body = found if isinstance(found, bytes) else found.read_bytes()
            todo += [
                (reference.path, is_requested and reference.is_requested)
                for reference in self._add(path, body)
            ]
        if self.entry.images:
            first, end = self.entry.images
            self.changes.append(f"of {len(self.images)} images {first + 1} to {end} are kept")

    def _add(self, path: str, body: bytes) -> list[Reference]:
        """Keep a file, repaired if it is a page or a style sheet; return what it refers to."""
        kind, repair = content_type(path), Repair(url_path(path), self.index, self._keeps)
        if kind in ("text/html", "text/css") and len(body) <= MAX_TEXT_BYTES:
            text = body.decode("utf-8", "surrogateescape")
            repaired = repair.page(text) if kind == "text/html" else repair.sheet(text)
            body = repaired.encode("utf-8", "surrogateescape")
        self.bodies[path] = body
        self.changes += [f"/{path}: {change}" for change in repair.changes]
        return repair.references

    def _keeps(self, image: str) -> bool:
        if self.entry.images is None:
            return True
        self.images.setdefault(image)
        first, end = self.entry.images
        return first <= list(self.images).index(image) < end


def ensure(name: str, version: str, sha256: str, say: Say) -> Path:
    """Return a package's file; fetch it if it is not in the cache.

    Raises:
        HostError: npm cannot fetch it, or its digest is not ``sha256``.
    """
    target = folders.cache() / "packages" / f"{name}-{version}.tgz"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        say(f"fetching {name} {version}")
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".npm-") as scratch:
            _pack(f"{name}@{version}", Path(scratch), say)
            fetched = next(iter(sorted(Path(scratch).glob("*.tgz"))))
            _check(fetched, f"{name} {version}", sha256)
            fetched.rename(target)
    _check(target, f"{name} {version} in {target}", sha256)
    return target


def _check(file: Path, what: str, sha256: str) -> None:
    digest = disk.sha256(file)
    if digest != sha256:
        raise HostError(
            f"{what} has the SHA-256 {digest}, not {sha256}",
            "it is not the expected package: remove the file if it exists, and check which npm"
            " registry this machine uses",
        )


def _pack(wanted: str, folder: Path, say: Say) -> None:
    words = ["pack", wanted, "--silent", "--ignore-scripts", "--no-update-notifier"]
    try:
        done = subprocess.run(
            [*_npm(say), *words],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT_S,
        )
        errors = done.stderr.strip().splitlines() or ["no reason given"]
        failed = done.returncode != 0 or not [*folder.glob("*.tgz")]
    except subprocess.TimeoutExpired:
        errors, failed = [f"it took more than {_TIME_LIMIT_S} s"], True
    if failed:
        raise HostError(
            f"npm could not fetch {wanted}: {errors[-1]}",
            "check the network and npm's settings, or try again later",
        )


def _npm(say: Say) -> list[str]:
    """Return the beginning of npm's command line."""
    if own := shutil.which("npm"):
        return [own]
    root = root_filesystem.ensure(TOOLS, say=say)
    return ["sh", "-c", _script(root.path), "npm"]


def _script(root: Path) -> str:
    """Return a shell command that runs npm."""
    npm = 'exec /usr/bin/node /usr/share/nodejs/npm/bin/npm-cli.js "$@"'
    cover = f"{debian.usr_cover(root)}\n{npm}\n"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return f'exec {shlex.join(["unshare", *user, "--mount", "sh", "-c", cover, "npm"])} "$@"'


@dataclass(frozen=True)
class FetchedPackage:
    """A package in the version that the registry has."""

    files: PackageFiles
    note: str = ""
    """How it differs from the pinned package; empty if it does not."""


def fetch(package: Package, say: Say) -> FetchedPackage:
    """Fetch a package unless it is cached.

    Raises:
        HostError: It is not available, or an npm package does not have its pinned digest.
    """
    if package.registry == "npm":
        file = ensure(package.name, package.version, package.sha256, say)
        return FetchedPackage(_archived(file, package.top))
    root = root_filesystem.ensure(
        root_filesystem.Contents(package.suite, frozenset({package.name})), say=say
    )
    version, digest = root.versions[package.name], root.digests.get(package.name)
    if version != package.version:
        note = f"Debian {package.suite} has {package.name} {version}, not {package.version}"
    elif digest and digest != package.sha256:
        note = f"{package.name} {version} has SHA-256 {digest}, not {package.sha256}"
    else:
        note = ""
    return FetchedPackage(dict(_in_root(root.path, package.top, PurePosixPath(), 0)), note)


def _archived(file: Path, top: str) -> PackageFiles:
    contents: dict[str, bytes] = {}
    with tarfile.open(file) as archive:
        for number, member in enumerate(archive):
            path = PurePosixPath(member.name)
            if number > _MAX_FILES or member.size > _MAX_FILE_BYTES:
                raise HostError(
                    f"{file} is too large",
                    "it cannot be the pinned package; delete it from the cache",
                )
            if member.isreg() and ".." not in path.parts and path.is_relative_to(top):
                content = archive.extractfile(member)
                contents[str(path.relative_to(top))] = content.read() if content else b""
    return contents


def _in_root(root: Path, top: str, folder: PurePosixPath, depth: int) -> Iterator[tuple[str, Path]]:
    """Yield every file of a root filesystem, down to ``_MAX_FOLDERS`` folders deep."""

    def outside(path: PurePosixPath) -> Path:
        inside = root_files.resolved(root, f"{top}/{path}")
        return root / "nowhere" if inside is None else root_files.outside(root, inside)

    for entry in sorted(outside(folder).iterdir()):
        path = folder / entry.name
        real = outside(path)
        if real.is_dir() and depth < _MAX_FOLDERS:
            yield from _in_root(root, top, path, depth + 1)
        elif real.is_file():
            yield str(path), real
