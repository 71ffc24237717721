"""Finds the kernel of guests, and a library for programs in them; builds both where they lack.

Guests run User Mode Linux, a kernel that is an ordinary program. Debian's own build of it lacks
virtual time. A wheel of ``make build`` has the kernel in the folder ``kernel/``, built on another
machine. Otherwise this module compiles Debian's ``linux-source``, with the patches and the options
in ``linux/``. Compiler and sources are in a root filesystem of the toolbox. No root rights are
needed.

::

    <cache>/programs/httpbed-linux-4c1f...       the kernel, named by a digest of its build
                     httpbed-linux-4c1f....so    a library for the programs in guests
                     httpbed-linux-4c1f....json  its version, the digests of source and kernel
                     httpbed-linux.log           make's output, of the last run
    <cache>/build/httpbed-linux-4c1f.../         the sources while they are compiled

A kernel of the wheel is copied there, because the folder of Python's packages may forbid programs.
It has the same name, if it was built from the same patches and options. An interrupted build goes
on where it stopped.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from httpbed.base import disk, folders
from httpbed.base.errors import HostError
from httpbed.bed.machine import guard
from httpbed.bed.toolbox import build_steps, debian, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Root

NAME = "httpbed-linux"
SOURCE = "linux-source-7.2"
"""Debian's package of sources. ``seccomp=on`` needs Linux 6.16 or newer."""
TESTED = "7.2.13-1"
TESTED_SHA256 = "30a8c5fc63f9028a62e6d7b3f7f43bee67425dbce2a05fceba83f9b87c92083d"
"""Version and digest of the package that httpbed was tested with."""
TOOLS = root_filesystem.Contents(
    "sid",
    frozenset(
        (
            *(SOURCE, "gcc", "libc6-dev", "make", "flex", "bison", "bc"),
            *("bash", "dash", "coreutils", "diffutils", "findutils", "gawk", "grep", "sed"),
            *("gzip", "patch", "perl-base", "tar", "xz-utils", "util-linux", "mount"),
        )
    ),
)
"""The sources, the compiler and what the kernel's Makefiles call."""
PROCESSOR = "x86_64"
CONTROLS = frozenset(("bbr", "bic", "cubic", "htcp", "reno", "vegas", "westwood"))
"""TCP congestion controls, as in ``linux/guest.config``."""
MIN_DISK_BYTES = 1_500_000_000

BUILT_FROM = (
    *("time-travel.patch", "closed-stub.patch", "fewer-faults.patch"),
    *("guest.config", "random_device.c", "build"),
)
"""Files of ``linux/`` that decide what is built."""
_FILES = Path(__file__).with_name("linux")
SHIPPED = Path(__file__).with_name("kernel")
"""The kernel of the wheel, if it has one (``setup/wheel_kernel.py``)."""
BUILD = "build"
"""Key of its record: the digest of what it was built from."""
_BUILD_CPU_MIN = 4

Say = Callable[[str], None]


@dataclass(frozen=True)
class GuestKernel:
    """A finished kernel."""

    path: Path
    version: str
    """Version of Debian's package."""
    source_sha256: str
    """Digest of that package's file."""
    sha256: str

    @property
    def random_device(self) -> Path:
        """The library ``linux/random_device.c``, compiled."""
        return self.path.with_name(f"{self.path.name}.so")


def require_processor() -> None:
    """Check that guests exist for this processor.

    Raises:
        HostError: They do not.
    """
    if (processor := os.uname().machine) != PROCESSOR:
        raise HostError(
            f"virtual time needs a processor of type {PROCESSOR}; this one is {processor}",
            'use clock = "real", or another machine',
        )


def require_congestion(names: Collection[str]) -> None:
    """Check that the kernel has these congestion controls.

    Raises:
        HostError: It lacks one.
    """
    if missing := sorted({*names} - CONTROLS):
        raise HostError(
            f"the kernel of guests has no TCP {' and no TCP '.join(missing)}",
            f"use one of {', '.join(sorted(CONTROLS))}, or --clock real",
        )


def find() -> GuestKernel | None:
    """Return the kernel with these patches and options; None if it is neither built nor shipped."""
    try:
        record = json.loads(_record().read_text())
    except FileNotFoundError:
        return _of_the_wheel()
    kernel = GuestKernel(path=_target(), **record)
    is_whole = kernel.path.exists() and kernel.random_device.exists()
    return kernel if is_whole else _of_the_wheel()


def _of_the_wheel() -> GuestKernel | None:
    """Copy the wheel's kernel to the cache; None if it has none, or another or a damaged one."""
    try:
        record = json.loads((SHIPPED / f"{NAME}.json").read_text())
    except FileNotFoundError:
        return None
    shipped = GuestKernel(path=SHIPPED / NAME, **{k: v for k, v in record.items() if k != BUILD})
    if record.get(BUILD) != build_digest() or disk.sha256(shipped.path) != shipped.sha256:
        return None
    _target().parent.mkdir(parents=True, exist_ok=True)
    return _keep(shipped)


def ensure(say: Say) -> GuestKernel:
    """Return the kernel; build it if it is missing.

    Raises:
        HostError: This machine cannot build or run it, or the archive is unavailable.
    """
    require_processor()
    if kernel := find():
        return kernel
    lock_file = _target().with_name(f".{NAME}.lock")
    with build_steps.locked(lock_file, "the guest's kernel", say) as lock:
        return find() or _build(lock, say)


def _build(lock: int, say: Say) -> GuestKernel:
    _require_disk()
    root = root_filesystem.ensure(TOOLS, say=say)
    if root.digests.get(SOURCE) != TESTED_SHA256:
        found = root.versions[SOURCE]
        say(f"note: building the guest's kernel from {SOURCE} {found}; tested is {TESTED}")
    jobs = len(os.sched_getaffinity(0))
    cpus = f"{jobs} CPU{'s' * (jobs > 1)}"
    say(f"building the guest's kernel, once (usually {_minutes(_BUILD_CPU_MIN / jobs)} on {cpus})")
    log = _target().with_name(f"{NAME}.log")
    folder = folders.cache() / "build" / _target().name
    folder.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w") as output,
        build_steps.reported("building the guest's kernel", say),
    ):
        command = _command(root, folder, jobs)
        if guard.run(command, holding=[lock], environment=_environment(), output=output) != 0:
            raise _failure(log)
    built = GuestKernel(
        path=folder / "linux",
        version=root.versions[SOURCE],
        source_sha256=root.digests.get(SOURCE, ""),
        sha256=disk.sha256(folder / "linux"),
    )
    kernel = _keep(built)
    shutil.rmtree(folder)
    return kernel


def _command(root: Root, folder: Path, jobs: int) -> list[str]:
    """Return the command that runs ``linux/build`` with the tools of the root filesystem."""
    inside = f'{debian.usr_cover(root.path)}\nexec sh "$@"'
    archive = f"/usr/src/{SOURCE}.tar.xz"
    words = [str(_FILES / "build"), archive, str(folder), str(jobs)]
    namespaces = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*namespaces, "sh", "-c", inside, "sh", *words]


def _environment() -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}


def _keep(kernel: GuestKernel) -> GuestKernel:
    """Copy a kernel and its library to the cache, with its record, which is written last."""
    kept = replace(kernel, path=_target())
    _copy(kernel.random_device, kept.random_device)
    _copy(kernel.path, kept.path)
    disk.write_record(
        _record(), {name: one for name, one in asdict(kept).items() if name != "path"}
    )
    return kept


def _copy(made: Path, target: Path) -> None:
    """Copy an executable to another file system; under its new name it is always whole."""
    fresh = target.with_name(f".{target.name}-{os.getpid()}")
    shutil.copyfile(made, fresh)
    fresh.chmod(0o755)
    fresh.rename(target)


def _minutes(minutes: float) -> str:
    return "1 min" if minutes <= 1 else f"{minutes:.0f} min"


def _require_disk() -> None:
    place = folders.cache()
    while not place.is_dir():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < MIN_DISK_BYTES:
        raise HostError(
            f"the guest's kernel needs {MIN_DISK_BYTES / 1e9:g} GB of disk while it is built;"
            f" {place} has {free / 1e9:.1f} GB",
            "free some, or set HTTPBED_CACHE to another folder",
        )


def _failure(log: Path) -> HostError:
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.strip() for line in lines if re.search(r"\berror\b|\*\*\*", line)] or lines[-1:]
    return HostError(
        f"the guest's kernel could not be built: {'; '.join(errors[:3]) or 'make was killed'}",
        f"read {log}; check the free disk space; the same command goes on where this one stopped",
    )


def _target() -> Path:
    return folders.cache() / "programs" / f"{NAME}-{build_digest()}"


def _record() -> Path:
    return _target().with_name(f"{_target().name}.json")


@functools.cache
def build_digest() -> str:
    """Return a digest of all files of the build, and of its tools."""
    digest = hashlib.sha256(TOOLS.name.encode())
    for name in BUILT_FROM:
        digest.update((_FILES / name).read_bytes())
    return digest.hexdigest()[:12]
