"""Files of a root filesystem: finding them as in a chroot, and running its tools from outside.

A program finds its loader and libraries by absolute paths inside its root. So symbolic links are
resolved as in a chroot, and the root's own loader is given its library path. Only tools of
httpbed's own roots are run like this; programs under test run in sandboxes.

Standard library only: set-up uses it before anything is installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from httpbed.base.errors import HostError

_MAGIC = b"\x7fELF"
_LOADERS = "ld*.so.[0-9]*"
"""Matches the name of the loader: ``ld-linux-x86-64.so.2``, ``ld64.so.1``."""
_MAX_LINKS = 40


def executables(folder: Path) -> Iterator[Path]:
    """Yield the ELF executables below a folder, without shared libraries."""
    for place, _, names in sorted(os.walk(folder)):
        for path in (Path(place, name) for name in sorted(names) if ".so" not in name):
            if path.is_file() and os.access(path, os.X_OK) and not path.is_symlink():
                with path.open("rb") as file:
                    if file.read(len(_MAGIC)) == _MAGIC:
                        yield path


def loading(root: Path, program: str) -> list[str] | None:
    """Return the command that runs a root's tool from outside; None if the root lacks the tool.

    Raises:
        HostError: The root lacks the loader.
    """
    path = resolved(root, program)
    if path is None:
        return None
    folders = _library_folders(root)
    loader = next((file for folder in folders for file in sorted(folder.glob(_LOADERS))), None)
    if loader is None:
        raise HostError(
            "the toolbox has no dynamic loader",
            "rebuild it: httpbed toolbox remove --all, then httpbed toolbox build",
        )
    libraries = ":".join(map(str, folders))
    command = [str(loader), "--inhibit-cache", "--library-path", libraries]
    return [*command, str(outside(root, path))]


def _library_folders(root: Path) -> list[Path]:
    """Return the loader's usual folders as seen from outside, this architecture's first."""
    tops = [root / top for top in ("usr/local/lib", "usr/lib", "usr/lib64")]
    machine = [
        folder for top in tops for folder in sorted(top.glob(f"{os.uname().machine}-linux-*"))
    ]
    return [folder for folder in (*machine, *tops) if folder.is_dir()]


def resolved(root: Path, path: str, *, to_be_made: bool = False) -> str | None:
    """Resolve symbolic links as in a chroot; None if the path does not exist.

    A path that is to be made may lack its last parts, and leads nowhere above the root.
    """
    todo, done = [part for part in path.split("/") if part], list[str]()
    links = 0
    while todo:
        part = todo.pop(0)
        if part == ".." and not done and to_be_made:
            return None
        if part in (".", ".."):
            done = done[:-1] if part == ".." else done
            continue
        here = root.joinpath(*done, part)
        if here.is_symlink():
            target = str(here.readlink())
            done = [] if target.startswith("/") else done
            todo = [part for part in target.split("/") if part] + todo
            links += 1
        elif to_be_made or here.exists():
            done.append(part)
        else:
            return None
        if links > _MAX_LINKS:
            return None
    return "/" + "/".join(done)


def outside(root: Path, path: str) -> Path:
    """Return the path of a root's file as seen from outside."""
    return root / path.lstrip("/")
