"""Files of npm and Debian packages.

An npm package is a tar file in the cache; only its regular files count. A Debian package is in a
root filesystem of the toolbox, with its dependencies, because documentation shares scripts through
symbolic links. Links are resolved inside of that root, and never lead out of it.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from httpbed.addons.pages.sites import npm
from httpbed.addons.pages.sites.corpus import Package
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_files, toolbox

_MOST_FILES = 200_000
_MOST_FILE_BYTES = 2**28
_MOST_FOLDERS = 12
"""Depth of folders in a root: a link may lead to its own folder."""

Say = Callable[[str], None]


class Tree(Protocol):
    """Files by their path below a package's top folder."""

    @property
    def paths(self) -> frozenset[str]:
        """Return all paths."""
        ...

    def read(self, path: str) -> bytes:
        """Return a file's content."""
        ...


@dataclass(frozen=True)
class FetchedPackage:
    """A package in the version that the registry has."""

    tree: Tree
    note: str = ""
    """How it differs from the pinned package; empty if it does not."""


def fetch(package: Package, say: Say) -> FetchedPackage:
    """Fetch a package unless it is cached.

    Raises:
        HostError: It is not available, or an npm package does not have its pinned digest.
    """
    if package.registry == "npm":
        file = npm.ensure(package.name, package.version, package.sha256, say)
        return FetchedPackage(_archived(file, package.top))
    root = toolbox.ensure(toolbox.Contents(package.suite, frozenset({package.name})), say=say)
    version, digest = root.versions[package.name], root.digests.get(package.name)
    if version != package.version:
        note = f"Debian {package.suite} has {package.name} {version}, not {package.version}"
    elif digest and digest != package.sha256:
        note = f"{package.name} {version} has SHA-256 {digest}, not {package.sha256}"
    else:
        note = ""
    return FetchedPackage(_Root(root.path, package.top), note)


@dataclass(frozen=True)
class _Archived:
    """Files of a tar archive."""

    files: Mapping[str, bytes]

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self.files)

    def read(self, path: str) -> bytes:
        return self.files[path]


def _archived(file: Path, top: str) -> _Archived:
    contents: dict[str, bytes] = {}
    with tarfile.open(file) as archive:
        for number, member in enumerate(archive):
            path = PurePosixPath(member.name)
            if number > _MOST_FILES or member.size > _MOST_FILE_BYTES:
                raise HostError(
                    f"{file} is too large",
                    "it cannot be the pinned package; delete it from the cache",
                )
            if member.isreg() and ".." not in path.parts and path.is_relative_to(top):
                content = archive.extractfile(member)
                contents[str(path.relative_to(top))] = content.read() if content else b""
    return _Archived(contents)


@dataclass(frozen=True)
class _Root:
    """Files of a root filesystem."""

    root: Path
    top: str
    paths: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", frozenset(self._walk(PurePosixPath(), 0)))

    def read(self, path: str) -> bytes:
        return self._outside(PurePosixPath(path)).read_bytes()

    def _outside(self, path: PurePosixPath) -> Path:
        inside = root_files.resolved(self.root, f"{self.top}/{path}")
        return self.root / "nowhere" if inside is None else root_files.outside(self.root, inside)

    def _walk(self, folder: PurePosixPath, depth: int) -> Iterator[str]:
        """Yield every file's path, down to ``_MOST_FOLDERS`` folders deep."""
        for entry in sorted(self._outside(folder).iterdir()):
            path = folder / entry.name
            real = self._outside(path)
            if real.is_dir() and depth < _MOST_FOLDERS:
                yield from self._walk(path, depth + 1)
            elif real.is_file():
                yield str(path)
