"""httpbed-quiche, built when it is first needed.

It holds BoringSSL, which takes minutes to compile and needs a C++ compiler, cmake, git and
libclang besides a new Rust. So neither the wheel nor `make prepare` has the executable: the wheel
has its sources, and here they become a static executable, always with the tools of one root
filesystem of the toolbox. What a machine happens to have makes no difference, and no rights are
needed.

::

    <cache>/programs/httpbed-quiche-4c1f...     the executable, by the digest of its sources
                     httpbed-quiche.log         what cargo said last
    <cache>/build/httpbed-quiche/               what is compiled, kept where sources are edited

Standard library only: set-up uses it, before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from httpbed.experiment.errors import HostError
from httpbed.host import folders, guard
from httpbed.host.packages import cargo, toolbox

NAME = "httpbed-quiche"

TOOLS = toolbox.Contents(
    "sid",
    frozenset(
        (
            *("cargo", "rustc", "rustfmt", "rust-clippy"),
            *("gcc", "g++", "libc6-dev", "cmake", "make", "git", "libclang-dev"),
            *("dash", "coreutils", "util-linux", "mount"),  # what build scripts call
        )
    ),
)
"""What builds it. quiche wants a Rust that no stable suite has yet."""

_SHIPPED = Path(__file__).with_name(NAME)
_CHECKOUT = Path(__file__).parents[4] / "crates" / NAME
_PROFILE = ("--release", "--locked", "--quiet", "--target", cargo.triple())

Say = Callable[[str], None]


def ensure(say: Say) -> Path:
    """Return the executable, building it when these sources have not been built yet.

    Raises:
        HostError: The tools cannot be had, or cargo fails.
    """
    if found := find():
        return found
    with _locked(say) as lock:
        return find() or _build(lock, say)


def find() -> Path | None:
    """Return the executable if these sources have been built."""
    target = _target()
    return target if target.exists() else None


def run(command: str, words: Sequence[str], say: Say) -> int:
    """Have cargo do something else with the same crate, compiling nothing twice.

    Returns:
        cargo's exit code.
    """
    with _locked(say) as lock:
        return _cargo([command, *_PROFILE, *words], _compiled(), lock, None, say)


def _build(lock: int, say: Say) -> Path:
    say(f"building {NAME}: minutes the first time, because of BoringSSL")
    target = _target()
    log = target.with_name(f"{NAME}.log")
    with _scratch() as folder, log.open("w") as output:
        code = _cargo(["build", *_PROFILE], folder, lock, output, say)
        if code != 0:
            raise _failure(log)
        fresh = target.with_name(f".{target.name}")
        shutil.copy2(folder / cargo.triple() / "release" / NAME, fresh)
        fresh.rename(target)
    return target


def _cargo(
    words: Sequence[str], compiled: Path, lock: int, output: IO[str] | None, say: Say
) -> int:
    root = toolbox.ensure(TOOLS, say=say)
    manifest = ["--manifest-path", str(_sources() / "Cargo.toml")]
    arguments = [words[0], *manifest, *words[1:]]
    flags = f"CARGO_TARGET_{cargo.variable()}_RUSTFLAGS"
    return guard.run(
        ["sh", "-c", cargo.script(root.path), "cargo", *arguments],
        holding=[lock],
        environment={
            **os.environ,
            flags: "-C target-feature=+crt-static",
            "CARGO_TARGET_DIR": str(compiled),
            "HTTPBED_QUICHE_SOURCES": _digest(),
        },
        output=output,
    )


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """Give the folder to compile in: kept in a checkout, where it is needed again soon."""
    if _sources() == _CHECKOUT:
        yield _compiled()
    else:
        with tempfile.TemporaryDirectory(dir=_target().parent, prefix=f".{NAME}-") as folder:
            yield Path(folder)


def _compiled() -> Path:
    return folders.cache() / "build" / NAME


def _failure(log: Path) -> HostError:
    lines = log.read_text(errors="replace").splitlines()
    told = [line.strip() for line in lines if line.lstrip().startswith("error")] or lines[-1:]
    return HostError(
        f"{NAME} could not be built: {'; '.join(told) or 'cargo was ended'}",
        f"read {log}; check the network and the free disk space (1 GB)",
    )


@contextlib.contextmanager
def _locked(say: Say) -> Iterator[int]:
    """Hold the lock of all builds of it; gives its descriptor."""
    folder = _target().parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{NAME}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds {NAME}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _target() -> Path:
    return folders.cache() / "programs" / f"{NAME}-{_digest()}"


def _sources() -> Path:
    return _SHIPPED if _SHIPPED.exists() else _CHECKOUT


@functools.cache
def _digest() -> str:
    """Name the sources by what is in them, tests included: they are the same files."""
    folder = _sources()
    files = [folder / "Cargo.toml", folder / "Cargo.lock", *(folder / "src").rglob("*.*")]
    summed = hashlib.sha256(repr(_PROFILE).encode())
    for path in sorted(files):
        summed.update(str(path.relative_to(folder)).encode())
        summed.update(hashlib.sha256(path.read_bytes()).digest())
    return summed.hexdigest()[:12]
