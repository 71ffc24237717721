"""Root filesystems with the programs under test, built once per user and kept.

A root is made by mmdebstrap from the packages of one suite. The packages are unpacked, not
installed: no script of theirs runs, no rights are needed, and all files belong to the user.
Nothing writes to a root afterwards, and it is never changed: other packages make another one.

::

    <cache>/toolbox/sid-0f3c.../root/          the root filesystem
                               /record.json    what was asked, and every package's version

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from httpbed.host import cache, guard, mmdebstrap
from httpbed.model.errors import HostError

BASE = (
    "base-files",
    "ca-certificates",
    "ethtool",
    "iproute2",
    "iputils-ping",
    "libc-bin",
)
"""In every root: what the network inside is set up and looked at with."""

_SCHEMA = 1
_DEVICES = ("console", "full", "null", "ptmx", "random", "tty", "urandom", "zero")
_USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
_GROUPS = "root:x:0:\nnogroup:x:65534:\n"


@dataclass(frozen=True)
class Root:
    """A finished root filesystem."""

    suite: str
    path: Path
    """The root filesystem's own ``/``."""
    packages: frozenset[str]
    """The packages asked for, without :data:`BASE` and dependencies."""
    versions: dict[str, str]
    """The version of every package in it."""
    built: str
    """When, as ISO 8601 in UTC."""

    @property
    def name(self) -> str:
        """The suite and a digest of the packages: names this root among all."""
        return self.path.parent.name


def ensure(suite: str, packages: Iterable[str], *, say: Callable[[str], None]) -> Root:
    """Return the root with these packages, building it when it is missing.

    A second builder of the same root waits for the first. A killed one leaves no process,
    and its partial folder is cleared by the next.
    """
    asked = frozenset(packages)
    if root := find(suite, asked):
        return root
    target = _home() / _name(suite, asked)
    with _locked(target, say) as lock:
        return find(suite, asked) or _build(target, suite, asked, lock, say)


def find(suite: str, packages: Iterable[str]) -> Root | None:
    """Return the finished root with exactly these packages, if there is one."""
    return _read(_home() / _name(suite, frozenset(packages)))


def find_all() -> list[Root]:
    """Return every finished root, the oldest first."""
    finished = [record.parent for record in _home().glob("[!.]*/record.json")]
    roots = filter(None, map(_read, finished))
    return sorted(roots, key=lambda root: (root.built, root.path))


def remove(root: Root) -> None:
    """Delete a root; it must not be in use."""
    _delete(root.path.parent)


def _home() -> Path:
    return cache.folder() / "toolbox"


def _name(suite: str, packages: frozenset[str]) -> str:
    contents = json.dumps([_SCHEMA, suite, sorted(packages | {*BASE})])
    return f"{suite}-{hashlib.sha256(contents.encode()).hexdigest()[:12]}"


def _read(home: Path) -> Root | None:
    try:
        record = json.loads((home / "record.json").read_text())
    except FileNotFoundError:
        return None
    return Root(
        suite=record["suite"],
        path=home / "root",
        packages=frozenset(record["packages"]),
        versions=record["versions"],
        built=record["built"],
    )


@contextlib.contextmanager
def _locked(target: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Hold the target's lock; gives its descriptor."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that builds the same toolbox")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _build(
    target: Path, suite: str, packages: frozenset[str], lock: int, say: Callable[[str], None]
) -> Root:
    """Build beside the target and rename when done: a root is there whole or not at all."""
    partial = target.with_name(f".{target.name}.partial")
    _delete(partial)
    program = mmdebstrap.command(say)
    say(f"building a root filesystem from {suite} with {', '.join(sorted(packages))}")
    partial.mkdir()
    versions = _unpack(program, partial, suite, packages, lock)
    _complete(partial / "root")
    record = {
        "schema": _SCHEMA,
        "suite": suite,
        "packages": sorted(packages),
        "versions": versions,
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (partial / "record.json").write_text(json.dumps(record, indent=2) + "\n")
    partial.rename(target)
    root = _read(target)
    if root is None:
        raise AssertionError(f"{target} has just been made")
    return root


def _unpack(
    program: list[str], partial: Path, suite: str, packages: frozenset[str], lock: int
) -> dict[str, str]:
    """Run mmdebstrap into ``partial/root`` and return each package's version."""
    listing, log = partial / "versions", partial / "log"
    # Scripts of packages do not run in this variant: chrootless mode then changes nothing of
    # the host even as root, and needs neither fakechroot nor namespaces as an ordinary user.
    command = [
        *program,
        *("--mode=chrootless", "--skip=check/chrootless", "--variant=extract"),
        "--format=directory",
        '--aptopt=Acquire::Check-Valid-Until "false"',  # an archive's snapshot is never "valid"
        f"--include={','.join(sorted(packages | {*BASE}))}",
        f"--extract-hook={_LIST_VERSIONS}",
        suite,
        str(partial / "root"),
    ]
    with log.open("w") as output, tempfile.TemporaryDirectory(dir=partial) as scratch:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": scratch}
        environment["HTTPBED_VERSIONS"] = str(listing)
        code = guard.run(command, holding=[lock], environment=environment, output=output)
    if code != 0:
        raise _failure(suite, packages, log)
    return dict(line.split("\t") for line in listing.read_text().splitlines())


# Run by mmdebstrap while the package files are still there; $1 is the root.
_LIST_VERSIONS = (
    'for package in "$1"/var/cache/apt/archives/*.deb; do'
    " dpkg-deb --show --showformat='${Package}\\t${Version}\\n' \"$package\" || exit 1;"
    ' done >"$HTTPBED_VERSIONS"'
)


def _failure(suite: str, packages: frozenset[str], log: Path) -> HostError:
    """Say what mmdebstrap said, and keep its log where the partial folder's end spares it."""
    lines = log.read_text(errors="replace").splitlines()
    told = [line[3:] for line in lines if line.startswith("E: ")] or lines[-1:]
    kept = log.parent.with_name(log.parent.name.removesuffix(".partial").lstrip(".") + ".log")
    log.replace(kept)
    _delete(log.parent)
    return HostError(
        f"no root filesystem could be built from {suite} with {', '.join(sorted(packages))}:"
        f" {'; '.join(told) or 'mmdebstrap was ended'}",
        f"read {kept}; check the network and the free disk space; a suite that moves may be"
        " whole again in some hours",
    )


def _complete(root: Path) -> None:
    """Add what the packages' scripts would have made and the programs need."""
    (root / "etc/passwd").write_text(_USERS)
    (root / "etc/group").write_text(_GROUPS)
    (root / "tmp").chmod(0o1777)
    for name in _DEVICES:  # the places where a sandbox binds the host's devices
        (root / "dev" / name).touch()
    for name in ("pts", "shm"):
        (root / "dev" / name).mkdir(exist_ok=True)
    shell = root / "usr/bin/sh"
    if (root / "usr/bin/dash").exists() and not shell.exists():
        shell.symlink_to("dash")


def _delete(folder: Path) -> None:
    """Delete a folder, if it is there, even where packages shipped unwritable folders."""
    for place, names, _ in os.walk(folder):
        for name in names:
            if not Path(place, name).is_symlink():
                Path(place, name).chmod(0o700)
    if folder.exists():
        shutil.rmtree(folder)
