"""Root filesystems with the programs under test, built once per user and kept.

A root is made by mmdebstrap from packages of one suite. The packages are unpacked, not
installed: no script of theirs runs, no rights are needed, and all files belong to the user.
Programs of the Python index are put into it afterwards. Nothing writes to a finished root, and
it is never changed: other contents make another one.

Each program has a root of its own, and not each suite one for all: what cannot be had today is
then missed by nobody else, what a new program brings changes no other one, and who wants two
programs does not wait for twenty. What the roots have in common is small (30 MB).

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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host import folders, guard
from httpbed.host.packages import mmdebstrap, package_index, pypi

BASE = ("base-files", "ca-certificates", "libc-bin")
"""In every root."""

_SCHEMA = 2
_INDEX = "index"
_DEVICES = ("console", "full", "null", "ptmx", "random", "tty", "urandom", "zero")
_USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
_GROUPS = "root:x:0:\nnogroup:x:65534:\n"


@dataclass(frozen=True)
class Contents:
    """What a root is asked to hold."""

    suite: str
    packages: frozenset[str] = frozenset()
    """Of the suite, without :data:`BASE` and dependencies."""
    pypi: frozenset[str] = frozenset()
    """Lines for the Python index as :func:`~httpbed.host.packages.pypi.pinned` makes them, with all
    that they depend on: a version, and the SHA-256 of every file that may be taken."""

    @property
    def name(self) -> str:
        """The suite and a digest of all the rest: names a root among all."""
        said = [_SCHEMA, self.suite, sorted(self.packages | {*BASE}), sorted(self.pypi)]
        return f"{self.suite}-{hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        return (
            f"{self.suite}: {', '.join(sorted(self.packages) + sorted(map(pypi.named, self.pypi)))}"
        )


TOOLS = Contents("trixie", frozenset({"ethtool", "iproute2", "iputils-ping"}))
"""What networks are set up and looked at with, whatever programs are under test."""


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
    pypi: frozenset[str] = frozenset()
    """What was asked for of the Python index, with digests."""
    wheels: Mapping[str, str] = field(default_factory=dict)
    """The version of every package from there."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of every package's file; of roots that were built before it was kept, nothing."""

    index: str = ""
    """The date of the archive's package index, as ISO 8601; empty where it is not known."""

    @property
    def name(self) -> str:
        """The suite and a digest of the packages: names this root among all."""
        return self.path.parent.name


def ensure(contents: Contents, *, say: Callable[[str], None]) -> Root:
    """Return the root with these contents, building it when it is missing.

    A second builder of the same root waits for the first. A killed one leaves no process,
    and its partial folder is cleared by the next.

    Raises:
        HostError: It cannot be built here, or not today.
    """
    if root := find(contents):
        return root
    target = _home() / contents.name
    with _locked(target, say) as lock:
        return find(contents) or _build(target, contents, lock, say)


def find(contents: Contents) -> Root | None:
    """Return the finished root with exactly these contents, if there is one."""
    return _read(_home() / contents.name)


def find_all() -> list[Root]:
    """Return every finished root, the oldest first."""
    finished = [record.parent for record in _home().glob("[!.]*/record.json")]
    roots = filter(None, map(_read, finished))
    return sorted(roots, key=lambda root: (root.built, root.path))


def remove(root: Root) -> None:
    """Delete a root; it must not be in use."""
    _delete(root.path.parent)


def _home() -> Path:
    return folders.cache() / "toolbox"


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
        pypi=frozenset(record.get("pypi", ())),
        wheels=record.get("wheels", {}),
        digests=record.get("digests", {}),
        index=record.get("index", ""),
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


def _build(target: Path, contents: Contents, lock: int, say: Callable[[str], None]) -> Root:
    """Build beside the target and rename when done: a root is there whole or not at all."""
    partial = target.with_name(f".{target.name}.partial")
    _delete(partial)
    program = mmdebstrap.command(say)
    say(f"building a root filesystem from {contents}")
    partial.mkdir()
    versions, digests = _unpack(program, partial, contents, lock, say)
    index = package_index.dated(partial / _INDEX)
    say(f"Debian {contents.suite}, {package_index.told(index, datetime.now(UTC))}")
    _complete(partial / "root")
    wheels = _add_wheels(partial, contents, lock) if contents.pypi else {}
    pypi.compile_modules(partial / "root")
    record = {
        "schema": _SCHEMA,
        "suite": contents.suite,
        "packages": sorted(contents.packages),
        "pypi": sorted(contents.pypi),
        "versions": versions,
        "digests": digests,
        "wheels": wheels,
        "index": index.isoformat() if index else "",
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (partial / "record.json").write_text(json.dumps(record, indent=2) + "\n")
    partial.rename(target)
    root = _read(target)
    if root is None:
        raise AssertionError(f"{target} has just been made")
    return root


def _unpack(
    program: list[str],
    partial: Path,
    contents: Contents,
    lock: int,
    say: Callable[[str], None],
) -> tuple[dict[str, str], dict[str, str]]:
    """Run mmdebstrap into ``partial/root``; return each package's version, and its digest.

    Stable suites' indexes do not expire. Those of suites that move do, after a week: where the
    archive is a snapshot of one, and only then, its index is taken all the same.
    """
    log = partial / "log"
    code = _extract(program, partial, contents, lock)
    if code != 0 and package_index.has_expired(log.read_text(errors="replace")):
        say(f"the package index of Debian {contents.suite} has expired: the archive is a snapshot")
        _delete(partial / "root")
        code = _extract([*program, package_index.EVEN_EXPIRED], partial, contents, lock)
    if code != 0:
        raise _failure(contents, log, "mmdebstrap")
    listed = [line.split() for line in (partial / "versions").read_text().splitlines()]
    return {name: version for name, version, _ in listed}, {name: sha for name, _, sha in listed}


def _extract(program: list[str], partial: Path, contents: Contents, lock: int) -> int:
    """Run mmdebstrap; return its exit code."""
    # Scripts of packages do not run in this variant: chrootless mode then changes nothing of
    # the host even as root, and needs neither fakechroot nor namespaces as an ordinary user.
    command = [
        *program,
        *("--mode=chrootless", "--skip=check/chrootless", "--variant=extract"),
        "--format=directory",
        f"--include={','.join(sorted(contents.packages | {*BASE}))}",
        f"--extract-hook={_LIST_VERSIONS}",
        f"--extract-hook={package_index.HOOK}",
        contents.suite,
        str(partial / "root"),
    ]
    with (partial / "log").open("w") as output, tempfile.TemporaryDirectory(dir=partial) as scratch:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": scratch}
        environment["HTTPBED_VERSIONS"] = str(partial / "versions")
        environment[package_index.VARIABLE] = str(partial / _INDEX)
        return guard.run(command, holding=[lock], environment=environment, output=output)


# Run by mmdebstrap while the package files are still there; $1 is the root.
_LIST_VERSIONS = (
    'for package in "$1"/var/cache/apt/archives/*.deb; do'
    " dpkg-deb --show --showformat='${Package} ${Version} ' \"$package\" || exit 1;"
    ' sha256sum - <"$package" | cut -d" " -f1 || exit 1;'
    ' done >"$HTTPBED_VERSIONS"'
)


def _add_wheels(partial: Path, contents: Contents, lock: int) -> dict[str, str]:
    """Install the programs of the Python index; return the version of each package."""
    listed, log = partial / "requirements.txt", partial / "log"
    listed.write_text("".join(f"{line}\n" for line in sorted(contents.pypi)))
    command, settings = pypi.command(listed, partial / "root")
    with log.open("w") as output:
        code = guard.run(command, holding=[lock], environment=settings, output=output)
    if code != 0:
        raise _failure(contents, log, Path(command[0]).name)
    return pypi.complete(partial / "root")


def _failure(contents: Contents, log: Path, installer: str) -> HostError:
    """Say what the installer said, and keep its log where the partial folder's end spares it."""
    said = log.read_text(errors="replace")
    lines = [line for line in said.splitlines() if line.strip()]
    told = [line[3:] for line in lines if line.startswith("E: ")] or lines[-3:]
    kept = log.parent.with_name(log.parent.name.removesuffix(".partial").lstrip(".") + ".log")
    log.replace(kept)
    _delete(log.parent)
    unbuilt = f"no root filesystem could be built from {contents}"
    if refused := pypi.refusal(said):
        return HostError(f"{unbuilt}: {refused.reason}", refused.remedy)
    return HostError(
        f"{unbuilt}: {'; '.join(map(str.strip, told)) or f'{installer} was ended'}",
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
