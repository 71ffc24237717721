"""Compiles those of httpbed's own programs that the wheel contains only as sources.

Each is built when it is first needed, because it takes minutes (httpbed-quiche contains BoringSSL)
or belongs to a stack that few experiments name. The tools are those of a root filesystem of the
toolbox, and the executable is static. So the result does not depend on the machine's own tools, and
no root rights are needed.

::

    <cache>/programs/httpbed-quiche-4c1f...     the executable, named by the digest of its sources
                     httpbed-quiche.log         the last output of cargo or go
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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from httpbed.base import folders
from httpbed.base.errors import HostError
from httpbed.bed.machine import guard
from httpbed.bed.toolbox import build_steps, debian, root_filesystem
from httpbed.bed.toolbox.root_filesystem import Contents

_CHECKOUT = Path(__file__).parents[4]
_SHELL = ("dash", "coreutils", "util-linux", "mount")
"""What build scripts call, and the script that runs a compiler."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Compiled(ABC):
    """A program of httpbed's that is compiled on demand."""

    name: str
    place: str
    """Folder of its sources in the checkout."""
    tools: Contents
    """Root filesystem with the compiler."""
    lasts: str
    """How long a first build usually takes."""

    build: ClassVar[tuple[str, ...]]
    check: ClassVar[tuple[str, ...]]
    test: ClassVar[tuple[str, ...]]
    """The compiler's verbs that build, lint and test, each with its options."""
    profile: ClassVar[tuple[str, ...]]
    """Options that make a build another one."""
    script: ClassVar[str]
    """Shell script that runs the compiler of the root filesystem."""

    @abstractmethod
    def digested(self) -> Iterator[Path]:
        """Yield the sources that make a build another one, tests included."""

    @abstractmethod
    def environment(self, folder: Path) -> dict[str, str]:
        """Return what the compiler's environment has beside the machine's.

        ``folder`` is the one to compile in.
        """

    @abstractmethod
    def words(self, verb: str, *options: str) -> list[str]:
        """Return the words of a compiler's verb for these sources."""

    @abstractmethod
    def result(self, folder: Path) -> Path:
        """Return where a build leaves the executable."""

    def how_far(self, log: Path) -> str:
        """Say how far a build is; an empty text if its log does not tell."""
        del log
        return ""

    def ensure(self, say: Say) -> Path:
        """Return the executable; build it if these sources have not been built yet.

        Raises:
            HostError: The tools cannot be installed, or the compiler fails.
        """
        if executable := self.find():
            return executable
        with self._locked(say) as lock:
            return self.find() or self._build(lock, say)

    def find(self) -> Path | None:
        """Return the executable if these sources have been built."""
        target = self._target()
        return target if target.exists() else None

    def run(self, command: Sequence[str], say: Say) -> int:
        """Run another command of the compiler with the same intermediate files.

        Returns:
            The compiler's exit code.
        """
        with self._locked(say) as lock:
            return self._compiler(command, self._kept(), lock, None, say)

    def sources(self) -> Path:
        """Return the folder of the sources: the wheel's, or the checkout's."""
        shipped = Path(__file__).with_name(Path(self.place).name)
        return shipped if shipped.exists() else _CHECKOUT / self.place

    def digest(self) -> str:
        """Return a digest of the sources, including their tests."""
        return _digest(self)

    def _build(self, lock: int, say: Say) -> Path:
        say(f"building {self.name} (usually {self.lasts})")
        target = self._target()
        log = target.with_name(f"{self.name}.log")
        with (
            self._scratch() as folder,
            log.open("w") as output,
            build_steps.reported(f"building {self.name}", say, how_far=lambda: self.how_far(log)),
        ):
            code = self._compiler(self.build, folder, lock, output, say)
            if code != 0:
                raise self._failure(log)
            fresh = target.with_name(f".{target.name}")
            shutil.copy2(self.result(folder), fresh)
            fresh.rename(target)
        return target

    def _compiler(
        self, command: Sequence[str], folder: Path, lock: int, output: IO[str] | None, say: Say
    ) -> int:
        root = root_filesystem.ensure(self.tools, say=say)
        script = covered_script(root.path, self.script)
        return guard.run(
            ["sh", "-c", script, self.name, *self.words(*command)],
            holding=[lock],
            environment={**os.environ, **self.environment(folder)},
            output=output,
        )

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        """Yield the folder to compile in; it is kept for builds in a checkout."""
        if self.sources() == _CHECKOUT / self.place:
            yield self._kept()
        else:
            parent = self._target().parent
            with tempfile.TemporaryDirectory(dir=parent, prefix=f".{self.name}-") as folder:
                yield Path(folder)

    def _kept(self) -> Path:
        return folders.cache() / "build" / self.name

    def _failure(self, log: Path) -> HostError:
        lines = log.read_text(errors="replace").splitlines()
        errors = [line.strip() for line in lines if _ERROR.match(line)] or lines[-1:]
        return HostError(
            f"{self.name} could not be built: {'; '.join(errors) or 'the compiler was killed'}",
            f"read {log}; check the network and the free disk space (1 GB)",
        )

    def _locked(self, say: Say) -> AbstractContextManager[int]:
        """Hold the lock of all builds of this program."""
        return build_steps.locked(self._target().with_name(f".{self.name}.lock"), self.name, say)

    def _target(self) -> Path:
        return folders.cache() / "programs" / f"{self.name}-{self.digest()}"


_ERROR = re.compile(r"\s*error|\S+\.go:\d+")


@functools.cache
def _digest(program: Compiled) -> str:
    folder = program.sources()
    digest = hashlib.sha256(repr(program.profile).encode())
    for path in sorted(program.digested()):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def covered_script(root: Path, script: str) -> str:
    """Return a shell script that runs ``script`` where another root filesystem's /usr is /usr.

    Home, checkout, /tmp and certificates remain the machine's. ``script`` ends with the words of a
    command, to which the script's own words are added.
    """
    *exports, command = script.strip().splitlines()
    lines = "\n".join(exports)
    return f"""#!/bin/sh
# Runs a program of another root filesystem's /usr.
user=$(id -u) group=$(id -g)
export user group
{lines}
cover='{debian.usr_cover(root)}'
if [ "$user" = 0 ]; then
    exec unshare --mount sh -c "$cover"'; exec {command} "$@"' sh "$@"
fi
# The second namespace restores the user's own id.
exec unshare --user --map-root-user --mount sh -c "$cover"'
exec /usr/bin/unshare --user --map-user="$user" --map-group="$group" {command} "$@"' sh "$@"
"""


# Rust.


def rust_target() -> str:
    """Return this machine's Rust target triple."""
    return f"{os.uname().machine}-unknown-linux-gnu"


def cargo_target_variable() -> str:
    """Return the triple as it is spelled in cargo's environment variables."""
    return rust_target().upper().replace("-", "_")


def cargo_script(root: Path) -> str:
    """Return a shell script that runs cargo."""
    return covered_script(root, _CARGO_SCRIPT)


_CARGO_SCRIPT = f"""
export CC=gcc CXX=g++ CARGO_TARGET_{cargo_target_variable()}_LINKER=gcc
# Keep the machine's own Rust out: rustup's proxies on the PATH may have no toolchain, and cargo
# looks for subcommands in its home first, unless that comes later on the PATH.
export PATH="/usr/bin:$PATH:${{CARGO_HOME:-$HOME/.cargo}}/bin:/usr/sbin:/sbin"
export RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTFMT=/usr/bin/rustfmt
/usr/bin/cargo
"""
_COMPILING = re.compile(r"^ *Compiling (\S+) ", re.MULTILINE)


@dataclass(frozen=True)
class Cargo(Compiled):
    """A crate outside the workspace, with its own lock file.

    Lints and tests have the profile of the build, so that nothing is compiled twice.
    """

    stack: str = ""
    """The feature, and the file in ``src/stacks``, that make one of several programs of a crate."""

    build = ("build",)
    check = ("clippy", "--quiet", "--all-targets", "--", "--deny", "warnings")
    test = ("test", "--quiet")
    profile = ("--release", "--locked", "--quiet", "--target", rust_target())
    script = _CARGO_SCRIPT

    def digested(self) -> Iterator[Path]:
        """Yield manifest, lock file and sources, but not those of the crate's other stacks."""
        folder = self.sources()
        yield from (folder / "Cargo.toml", folder / "Cargo.lock")
        for path in (folder / "src").rglob("*.*"):
            if path.parent.name != "stacks" or path.stem == self.stack:
                yield path

    def environment(self, folder: Path) -> dict[str, str]:
        """Link statically; a program may report the digest of its sources as its version."""
        return {
            f"CARGO_TARGET_{cargo_target_variable()}_RUSTFLAGS": "-C target-feature=+crt-static",
            "CARGO_TARGET_DIR": str(folder),
            f"{self.name.upper().replace('-', '_')}_SOURCES": self.digest(),
        }

    def words(self, verb: str, *options: str) -> list[str]:
        """Return the verb with the profile; a build's log names each package."""
        manifest = str(self.sources() / "Cargo.toml")
        profile = [word for word in self.profile if word != "--quiet"]
        if self.stack:
            profile.append(f"--features={self.stack}")
        return [verb, "--manifest-path", manifest, *profile, *options]

    def result(self, folder: Path) -> Path:
        """Return cargo's own place."""
        return folder / rust_target() / "release" / Path(self.place).name

    def how_far(self, log: Path) -> str:
        """Say how many packages cargo has begun to compile, and which one it began last."""
        begun = _COMPILING.findall(log.read_text(errors="replace"))
        packages = (self.sources() / "Cargo.lock").read_text().count("[[package]]")
        return f"{len(begun)} of about {packages} packages, now {begun[-1]}" if begun else ""


# Go.


class Go(Compiled):
    """A module of Go; its executable has no paths of this machine and no debugging tables."""

    profile = ("-trimpath", "-ldflags=-s -w")
    build = ("install", *profile, ".")
    check = ("vet", ".")
    test = ("test", ".")
    script = 'unset GOROOT\nexport PATH="/usr/bin:$PATH:/usr/sbin:/sbin"\n/usr/bin/go'

    def digested(self) -> Iterator[Path]:
        """Yield the module's files and sources."""
        folder = self.sources()
        yield from (folder / "go.mod", folder / "go.sum", *folder.glob("*.go"))

    def environment(self, folder: Path) -> dict[str, str]:
        """Link statically, with this toolchain and the modules that go.sum pins."""
        return {
            "CGO_ENABLED": "0",
            "GOBIN": str(folder),
            "GOCACHE": str(folder / "cache"),
            "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
            "GOMODCACHE": str(folder / "modules"),
            "GOTOOLCHAIN": "local",
        }

    def words(self, verb: str, *options: str) -> list[str]:
        """Return the verb in the folder of the sources."""
        return ["-C", str(self.sources()), verb, *options]

    def result(self, folder: Path) -> Path:
        """Return the place of installed programs, which the environment sets."""
        return folder / self.name


_RUST = Contents(
    "sid",
    frozenset(
        (
            *("cargo", "rustc", "rustfmt", "rust-clippy"),
            *("gcc", "g++", "libc6-dev", "cmake", "make", "git", "libclang-dev"),
            *("libnuma-dev", "perl"),
            *_SHELL,
        )
    ),
)
"""quiche needs a newer Rust than Debian stable has."""
QUICHE = Cargo("httpbed-quiche", "crates/httpbed-quiche", _RUST, "3 min, most of it for BoringSSL")
QUINN = Cargo("httpbed-quinn", "crates/httpbed-stacks", _RUST, "1 min", "quinn")
MSQUIC = Cargo(
    "httpbed-msquic",
    "crates/httpbed-stacks",
    _RUST,
    "several minutes, most of them for OpenSSL",
    "msquic",
)
TQUIC = Cargo("httpbed-tquic", "crates/httpbed-stacks", _RUST, QUICHE.lasts, "tquic")
GO = Go(
    "httpbed-go",
    "go/httpbed-go",
    Contents("sid", frozenset(("golang-go", *_SHELL))),
    "1 min, most of it for Go's own library",
)
PROGRAMS: Mapping[str, Compiled] = {
    program.name: program for program in (QUICHE, QUINN, TQUIC, MSQUIC, GO)
}
"""By name, as recipes write it."""
