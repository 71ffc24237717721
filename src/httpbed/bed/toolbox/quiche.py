"""Builds httpbed-quiche when it is first needed.

It contains BoringSSL, which takes minutes to compile and needs a C++ compiler, cmake, git, libclang
and a recent Rust. So the wheel contains only its sources, and this module compiles them to a static
executable with the tools of a root filesystem of the toolbox. The result does not depend on the
machine's own tools, and no root rights are needed.

::

    <cache>/programs/httpbed-quiche-4c1f...     the executable, named by the digest of its sources
                     httpbed-quiche.log         cargo's last output
    <cache>/build/httpbed-quiche/               intermediate files, kept for builds in a checkout

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.machine import guard
from httpbed.bed.toolbox import build_steps, debian, root_filesystem

NAME = "httpbed-quiche"
TOOLS = root_filesystem.Contents(
    "sid",
    frozenset(
        (
            *("cargo", "rustc", "rustfmt", "rust-clippy"),
            *("gcc", "g++", "libc6-dev", "cmake", "make", "git", "libclang-dev"),
            *("dash", "coreutils", "util-linux", "mount"),  # called by build scripts
        )
    ),
)
"""The build tools. quiche needs a newer Rust than Debian stable has."""


def rust_target() -> str:
    """Return this machine's Rust target triple."""
    return f"{os.uname().machine}-unknown-linux-gnu"


_SHIPPED = Path(__file__).with_name(NAME)
_CHECKOUT = Path(__file__).parents[4] / "crates" / NAME
_QUIET = "--quiet"
_PROFILE = ("--release", "--locked", _QUIET, "--target", rust_target())
_COMPILING = re.compile(r"^ *Compiling (\S+) ", re.MULTILINE)

Say = Callable[[str], None]


def ensure(say: Say) -> Path:
    """Return the executable; build it if these sources have not been built yet.

    Raises:
        HostError: The tools cannot be installed, or cargo fails.
    """
    if executable := find():
        return executable
    with _locked(say) as lock:
        return find() or _build(lock, say)


def find() -> Path | None:
    """Return the executable if these sources have been built."""
    target = _target()
    return target if target.exists() else None


def run(command: str, words: Sequence[str], say: Say) -> int:
    """Run another cargo command for the crate, with the same intermediate files.

    Returns:
        cargo's exit code.
    """
    with _locked(say) as lock:
        return _cargo([command, *_PROFILE, *words], _compiled(), lock, None, say)


def _build(lock: int, say: Say) -> Path:
    say(f"building {NAME} (usually 3 min, most of it for BoringSSL)")
    target = _target()
    log = target.with_name(f"{NAME}.log")
    words = [word for word in _PROFILE if word != _QUIET]  # so the log names each package
    with (
        _scratch() as folder,
        log.open("w") as output,
        build_steps.reported(f"building {NAME}", say, how_far=lambda: how_far(log)),
    ):
        code = _cargo(["build", *words], folder, lock, output, say)
        if code != 0:
            raise _failure(log)
        fresh = target.with_name(f".{target.name}")
        shutil.copy2(folder / rust_target() / "release" / NAME, fresh)
        fresh.rename(target)
    return target


def how_far(log: Path) -> str:
    """Say how many packages cargo has begun to compile, and which one it began last."""
    begun = _COMPILING.findall(log.read_text(errors="replace"))
    packages = (_sources() / "Cargo.lock").read_text().count("[[package]]")
    return f"{len(begun)} of about {packages} packages, now {begun[-1]}" if begun else ""


def _cargo(
    words: Sequence[str], compiled: Path, lock: int, output: IO[str] | None, say: Say
) -> int:
    root = root_filesystem.ensure(TOOLS, say=say)
    manifest = ["--manifest-path", str(_sources() / "Cargo.toml")]
    arguments = [words[0], *manifest, *words[1:]]
    flags = f"CARGO_TARGET_{cargo_target_variable()}_RUSTFLAGS"
    return guard.run(
        ["sh", "-c", cargo_script(root.path), "cargo", *arguments],
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
    """Yield the folder to compile in; it is kept for builds in a checkout."""
    if _sources() == _CHECKOUT:
        yield _compiled()
    else:
        with tempfile.TemporaryDirectory(dir=_target().parent, prefix=f".{NAME}-") as folder:
            yield Path(folder)


def _compiled() -> Path:
    return folders.cache() / "build" / NAME


def _failure(log: Path) -> HostError:
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.strip() for line in lines if line.lstrip().startswith("error")] or lines[-1:]
    return HostError(
        f"{NAME} could not be built: {'; '.join(errors) or 'cargo was killed'}",
        f"read {log}; check the network and the free disk space (1 GB)",
    )


def _locked(say: Say) -> AbstractContextManager[int]:
    """Hold the lock of all builds of httpbed-quiche."""
    return build_steps.locked(_target().with_name(f".{NAME}.lock"), NAME, say)


def _target() -> Path:
    return folders.cache() / "programs" / f"{NAME}-{_digest()}"


def _sources() -> Path:
    return _SHIPPED if _SHIPPED.exists() else _CHECKOUT


@functools.cache
def _digest() -> str:
    """Return a digest of the sources, including their tests."""
    folder = _sources()
    files = [folder / "Cargo.toml", folder / "Cargo.lock", *(folder / "src").rglob("*.*")]
    digest = hashlib.sha256(repr(_PROFILE).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def cargo_target_variable() -> str:
    """Return the triple as it is spelled in cargo's environment variables."""
    return rust_target().upper().replace("-", "_")


def cargo_script(root: Path) -> str:
    """Return a shell script that runs cargo."""
    return f"""#!/bin/sh
# Runs the cargo of another root filesystem's /usr.
user=$(id -u) group=$(id -g)
export user group CC=gcc CXX=g++ CARGO_TARGET_{cargo_target_variable()}_LINKER=gcc
# Keep the machine's own Rust out: rustup's proxies on the PATH may have no toolchain, and cargo
# looks for subcommands in its home first, unless that comes later on the PATH.
export PATH="/usr/bin:$PATH:${{CARGO_HOME:-$HOME/.cargo}}/bin:/usr/sbin:/sbin"
export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTFMT=/usr/bin/rustfmt
cover='{debian.usr_cover(root)}'
if [ "$user" = 0 ]; then
    exec unshare --mount sh -c "$cover"'; exec /usr/bin/cargo "$@"' cargo "$@"
fi
# The second namespace restores the user's own id.
exec unshare --user --map-root-user --mount sh -c "$cover"'
exec /usr/bin/unshare --user --map-user="$user" --map-group="$group" /usr/bin/cargo "$@"' cargo "$@"
"""
