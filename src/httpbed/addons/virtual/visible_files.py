"""What a guest sees of this machine, and where: programs, httpbed with its Python, its work.

A guest's programs find everything at the same path as here, but for the places that are named
below. Standard library only: every guest imports it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from httpbed.bed.sandbox.sandbox_spec import ALL, SandboxSpec, executable

OF_THE_HOST = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu")
"""Folders of programs (``filesystem.rs``)."""
_OF_ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
"""What of /etc the loader and programs need; the rest is this machine's alone."""
ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "/etc/group": "root:x:0:\nnogroup:x:65534:\nnobody:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
"""The guest's own files in /etc: path -> text."""
OWN = ("dev", "proc", "sys")
"""Folders that every guest has of its own."""


def of_python() -> list[Path]:
    """Return the machine's programs, and what httpbed and this Python consist of."""
    programs = [Path("/", name) for name in OF_THE_HOST]
    python = map(Path, (sys.prefix, sys.base_prefix, sys.executable, *filter(None, sys.path)))
    own = [executable(name) for name in ALL]
    return topmost([*programs, *map(Path, _OF_ETC), *python, *own])


def of_sandbox(spec: SandboxSpec) -> list[Path]:
    """Return what a sandbox in the guest mounts."""
    named: list[Mapping[str, Path]] = [spec.roots, spec.shared, spec.programs]
    named += [part.shared for part in spec.parts.values()]
    paths = [path for one in named for path in one.values()]
    return [path for path in paths if path != Path("/")]


def of_user() -> list[Path]:
    """Return all files of this machine, for a command of the user."""
    every = (path for path in Path("/").iterdir() if path.name not in OWN)
    return [path for path in every if path.is_dir() or path.is_file()]


def topmost(paths: Iterable[Path]) -> list[Path]:
    """Return those that exist and are not below another one; of a link also where it leads."""
    every = sorted({place for path in paths if path.exists() for place in _places(path)})
    top: list[Path] = []
    for path in every:
        if not (top and path.is_relative_to(top[-1])):
            top.append(path)
    return top


def _places(path: Path) -> Iterator[Path]:
    yield Path(os.path.abspath(path))  # noqa: PTH100 - links stay
    yield path.resolve()


HANDED = Path("/httpbed")
"""What is handed over, as seen in the guest."""
SHARED = Path("/dev/shm/httpbed")  # noqa: S108 - of the guest
"""The folder of what the guest leaves, as seen in the guest."""
LEFT = "left"
"""Name of the same folder as a part's."""
LEFT_IN_KERNEL = f"/trial/{LEFT}"
WRITTEN_IN_KERNEL = "/written"
"""The two places to which a guest writes, as its kernel sees them."""
RANDOM_DEVICE = "/random_device.so"
"""In a guest, the library that is loaded into every program under test."""
