"""The toolbox: root filesystems with the programs under test, built once per user.

mmdebstrap builds a root from packages of one suite. It unpacks the packages without running their
scripts, so no root rights are needed, and all files belong to the user. Programs of the Python
index are added afterwards. A finished root never changes: other contents make another root.

Each program has its own root. So a package that cannot be downloaded affects only one program, a
new program changes no other root, and only requested programs are built. The common part of the
roots is small (30 MB).

::

    <cache>/toolbox/sid-0f3c.../root/          the root filesystem
                               /record.json    its contents, and every package's version

The identity of a program in a root is its digest and the root's packages: the archive signs their
digests, and nothing else is in the root. Of a program of the user's, it is the digest of each
library. Nothing is executed to find that out.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from httpbed.base import disk, folders, user_file
from httpbed.base.errors import HostError
from httpbed.bed.machine import guard
from httpbed.bed.toolbox import build_steps, debian, pypi, root_files

BASE = ("base-files", "ca-certificates", "libc-bin")

IMAGES = "image"
"""In place of a suite: the root is a container image that the user has imported."""
IMPORT = "import it from its file: httpbed toolbox import IMAGE"
"""The remedy for an image that is not in the toolbox."""

_SCHEMA = 2
_INDEX = "index"
DEVICES = frozenset(
    f"dev/{name}"
    for name in ("console", "full", "null", "ptmx", "random", "tty", "urandom", "zero")
)
"""Devices of this machine that every part has."""
_USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
_GROUPS = "root:x:0:\nnogroup:x:65534:\n"


@dataclass(frozen=True)
class Contents:
    """The requested contents of a root."""

    suite: str
    """A suite of Debian, or :data:`IMAGES`, whose only packages are the image's digest and the
    contract that it was prepared for."""
    packages: frozenset[str] = frozenset()
    """Packages of the suite, without :data:`BASE` and dependencies."""
    pypi: frozenset[str] = frozenset()
    """Requirement lines of :func:`~httpbed.bed.toolbox.pypi.pinned` for the Python index,
    including dependencies: each with a version and the SHA-256 of every permitted file."""

    @property
    def name(self) -> str:
        """The suite and a digest of the contents, which identify a root."""
        contents = [_SCHEMA, self.suite, sorted(self.packages | {*BASE}), sorted(self.pypi)]
        return f"{self.suite}-{hashlib.sha256(json.dumps(contents).encode()).hexdigest()[:12]}"

    def __str__(self) -> str:
        return (
            f"{self.suite}: {', '.join(sorted(self.packages) + sorted(map(pypi.named, self.pypi)))}"
        )


TOOLS = Contents("trixie", frozenset({"ethtool", "iproute2", "iputils-ping"}))
"""The tools that set up and inspect networks in every trial."""


@dataclass(frozen=True)
class Root:
    """A finished root filesystem."""

    suite: str
    path: Path
    """The root filesystem's own ``/``."""
    packages: frozenset[str]
    """The requested packages, without :data:`BASE` and dependencies."""
    versions: dict[str, str]
    built: str
    """Build time, ISO 8601 in UTC."""
    pypi: frozenset[str] = frozenset()
    """The requested programs of the Python index, with digests."""
    wheels: Mapping[str, str] = field(default_factory=dict)
    """The version of every package from the Python index."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of every package's file; empty for roots of older versions of httpbed."""
    index: str = ""
    """Date of the archive's package index, ISO 8601; empty if not known."""
    index_expired: bool = False
    """Whether the index had expired when it was used."""

    @property
    def name(self) -> str:
        """The suite and a digest of the contents, which identify this root."""
        return self.path.parent.name


def ensure(contents: Contents, *, say: Callable[[str], None], accept_expired: bool = False) -> Root:
    """Return the root with these contents; build it if it is missing.

    A second build of the same root waits for the first. A killed build leaves no process, and the
    next build clears its partial folder. An expired package index is only used if the user accepts
    it, here or in the settings of this machine's apt.

    Raises:
        HostError: It cannot be built on this machine, or the archive is unavailable.
    """
    if root := find(contents):
        return root
    if contents.suite == IMAGES:
        raise HostError(
            f"{contents} is not in the toolbox",
            IMPORT,
        )
    target = _home() / contents.name
    lock_file = target.with_name(f".{target.name}.lock")
    with build_steps.locked(lock_file, "the same toolbox", say) as lock:
        is_accepted = accept_expired or debian.accepts_expired_here()
        options = [debian.EVEN_EXPIRED] if is_accepted else []
        return find(contents) or _build(target, contents, lock, say, options)


def add(contents: Contents, fill: Callable[[Path], None], *, say: Callable[[str], None]) -> Root:
    """Return the root with the contents of an image; have ``fill`` write it if it is missing.

    ``fill`` gets the root's empty folder. Nothing is left of it if ``fill`` raises.
    """
    target = _home() / contents.name
    lock_file = target.with_name(f".{target.name}.lock")
    with build_steps.locked(lock_file, "the same toolbox", say):
        if root := find(contents):
            return root
        partial = target.with_name(f".{target.name}.partial")
        _delete(partial)
        (partial / "root").mkdir(parents=True)
        try:
            fill(partial / "root")
        except BaseException:
            _delete(partial)
            raise
        record = {
            "schema": _SCHEMA,
            "suite": contents.suite,
            "packages": sorted(contents.packages),
            "versions": {contents.suite: " ".join(sorted(contents.packages))},
        }
        return _finish(target, partial, record)


def find(contents: Contents) -> Root | None:
    """Return the finished root with exactly these contents; None if there is none."""
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
        index_expired=record.get("index_expired", False),
    )


def _build(
    target: Path, contents: Contents, lock: int, say: Callable[[str], None], options: Sequence[str]
) -> Root:
    """Build beside the target, then rename, so that a root is always complete."""
    partial = target.with_name(f".{target.name}.partial")
    _delete(partial)
    program = [*debian.mmdebstrap(say), *options]
    say(f"building a root filesystem from {contents} (usually 20 s to 2 min)")
    partial.mkdir()
    step, log = f"building a root filesystem from {contents}", partial / "log"
    with build_steps.reported(step, say, how_far=lambda: last_step(log)):
        versions, digests = _unpack(program, partial, contents, lock)
        index, now = debian.index_dates(partial / _INDEX), datetime.now(UTC)
        say(f"Debian {contents.suite}, {debian.age_text(index, now)}")
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
        "index": index.made.isoformat() if index.made else "",
        "index_expired": index.is_expired(now),
    }
    return _finish(target, partial, record)


def _finish(target: Path, partial: Path, record: Mapping[str, object]) -> Root:
    """Write the record of a partial root, and give the root its name."""
    record = {**record, "built": datetime.now(UTC).isoformat(timespec="seconds")}
    (partial / "record.json").write_text(json.dumps(record, indent=2) + "\n")
    partial.rename(target)
    root = _read(target)
    if root is None:
        raise AssertionError(f"{target} was just built")
    return root


def _unpack(
    program: list[str],
    partial: Path,
    contents: Contents,
    lock: int,
) -> tuple[dict[str, str], dict[str, str]]:
    """Run mmdebstrap into ``partial/root``; return each package's version, and its digest."""
    log = partial / "log"
    if _extract(program, partial, contents, lock) != 0:
        raise _failure(contents, log, "mmdebstrap")
    listed = [line.split() for line in (partial / "versions").read_text().splitlines()]
    return {name: version for name, version, _ in listed}, {name: sha for name, _, sha in listed}


def last_step(log: Path) -> str:
    """Return what mmdebstrap says that it does."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return next((line[3:].strip(" .") for line in reversed(lines) if line.startswith("I: ")), "")


def _extract(program: list[str], partial: Path, contents: Contents, lock: int) -> int:
    """Run mmdebstrap; return its exit code."""
    # This variant runs no package scripts. So chrootless mode changes nothing on the host, even as
    # root, and an ordinary user needs neither fakechroot nor namespaces.
    command = [
        *program,
        *("--mode=chrootless", "--skip=check/chrootless", "--variant=extract"),
        "--format=directory",
        f"--include={','.join(sorted(contents.packages | {*BASE}))}",
        f"--extract-hook={_LIST_VERSIONS}",
        f"--extract-hook={debian.HOOK}",
        contents.suite,
        str(partial / "root"),
    ]
    with (partial / "log").open("w") as output, tempfile.TemporaryDirectory(dir=partial) as scratch:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TMPDIR": scratch}
        environment["HTTPBED_VERSIONS"] = str(partial / "versions")
        environment[debian.VARIABLE] = str(partial / _INDEX)
        return guard.run(command, holding=[lock], environment=environment, output=output)


# mmdebstrap runs it before it deletes the package files; $1 is the root.
_LIST_VERSIONS = (
    'for package in "$1"/var/cache/apt/archives/*.deb; do'
    " dpkg-deb --show --showformat='${Package} ${Version} ' \"$package\" || exit 1;"
    ' sha256sum - <"$package" | cut -d" " -f1 || exit 1;'
    ' done >"$HTTPBED_VERSIONS"'
)


def _add_wheels(partial: Path, contents: Contents, lock: int) -> dict[str, str]:
    """Install programs of the Python index; return the version of each package."""
    listed, log = partial / "requirements.txt", partial / "log"
    listed.write_text("".join(f"{line}\n" for line in sorted(contents.pypi)))
    command, settings = pypi.command(listed, partial / "root")
    with log.open("w") as output:
        code = guard.run(command, holding=[lock], environment=settings, output=output)
    if code != 0:
        raise _failure(contents, log, Path(command[0]).name)
    return pypi.complete(partial / "root")


def _failure(contents: Contents, log: Path, installer: str) -> HostError:
    """Return the error with the installer's message; keep the log, and delete the partial root."""
    text = log.read_text(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line[3:] for line in lines if line.startswith("E: ")] or lines[-3:]
    kept_log = log.parent.with_name(log.parent.name.removesuffix(".partial").lstrip(".") + ".log")
    log.replace(kept_log)
    _delete(log.parent)
    unbuilt = f"no root filesystem could be built from {contents}"
    expired = debian.expired_refusal(contents.suite) if debian.has_expired(text) else None
    if refused := expired or pypi.refusal(text):
        return HostError(f"{unbuilt}: {refused.reason}", refused.remedy)
    return HostError(
        f"{unbuilt}: {'; '.join(map(str.strip, errors)) or f'{installer} was killed'}",
        f"read {kept_log}; check the network and the free disk space; an inconsistent testing or"
        " unstable suite is usually repaired within hours",
    )


def _complete(root: Path) -> None:
    """Add the files that the packages' scripts would have made and that programs need."""
    (root / "etc/passwd").write_text(_USERS)
    (root / "etc/group").write_text(_GROUPS)
    (root / "tmp").chmod(0o1777)
    for name in DEVICES:  # mount points of the host's devices in a sandbox
        (root / name).touch()
    for name in ("pts", "shm"):
        (root / "dev" / name).mkdir(exist_ok=True)
    shell = root / "usr/bin/sh"
    if (root / "usr/bin/dash").exists() and not shell.exists():
        shell.symlink_to("dash")


def _delete(folder: Path) -> None:
    """Delete a folder if it exists, including unwritable folders of packages."""
    for place, names, _ in os.walk(folder):
        for name in names:
            if not Path(place, name).is_symlink():
                Path(place, name).chmod(0o700)
    if folder.exists():
        shutil.rmtree(folder)


_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class ProgramIdentity:
    """The identity of a program's build."""

    name: str
    path: str
    """Path inside the root without symbolic links, such as ``/usr/sbin/nginx``."""
    sha256: str
    libraries: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each shared library that a program of the user's loads at its start, by path."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Version and SHA-256 of each package in its root."""
    index: str = ""
    """Date of the package index that its root was installed from."""
    index_expired: bool = False


def program_identity(root: Root, program: str) -> ProgramIdentity:
    """Identify a program by its name on the root's PATH, or by its path inside the root."""
    path = find_program(root.path, program)
    if path is None:
        raise HostError(
            f"{program} is not in the toolbox of {root.suite}",
            "name its package in the recipe's [install]; if it was removed from the toolbox:"
            " httpbed toolbox remove --all, then httpbed toolbox build",
        )
    return ProgramIdentity(
        name=Path(program).name,
        path=path,
        sha256=disk.sha256(root_files.outside(root.path, path)),
        packages={
            name: " ".join(filter(None, (version, root.digests.get(name))))
            for name, version in sorted(root.versions.items())
        },
        index=root.index,
        index_expired=root.index_expired,
    )


def user_program_identity(program: Path, libraries: Mapping[str, Path]) -> ProgramIdentity:
    """Identify a program of the user, which runs with these libraries of this machine."""
    return ProgramIdentity(
        name=program.name,
        path=str(program),
        sha256=_user_file_digest(program),
        libraries={str(path): _user_file_digest(path) for path in sorted(libraries.values())},
    )


def _user_file_digest(file: Path) -> str:
    """Return the SHA-256 of a file of the user's, in whose place there may be a pipe by now."""
    try:
        with user_file.opened(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, user_file.NotAFileError) as error:
        raise HostError(f"{file} cannot be read: {error}", "name another program") from None


def tool_command(root: Root, program: str) -> list[str] | None:
    """Return the command that runs a root's tool from outside; None if there is none."""
    path = find_program(root.path, program)
    return None if path is None else root_files.loading(root.path, path)


def find_program(root: Path, program: str) -> str | None:
    """Return the path, without links, of a program of a root; None if there is none."""
    places = [program] if program.startswith("/") else [f"{place}/{program}" for place in _PATH]
    for place in places:
        path = root_files.resolved(root, place)
        if path is not None and os.access(root_files.outside(root, path), os.X_OK):
            return path
    return None
