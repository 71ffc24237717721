"""ELF programs of a root filesystem: finding them, their loaders, and running them from outside.

A program finds its loader and libraries by absolute paths inside its root. So symbolic links are
resolved as in a chroot, and the root's own loader is given its library path.

Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from httpbed.experiment.errors import HostError

_MAGIC = b"\x7fELF"
_LOADER = 3
"""The ELF segment type that names the loader (PT_INTERP)."""
_MOST_LINKS = 40


def executables(folder: Path) -> Iterator[Path]:
    """Yield the ELF executables below a folder, without shared libraries."""
    for place, _, names in sorted(os.walk(folder)):
        for path in (Path(place, name) for name in sorted(names) if ".so" not in name):
            if os.access(path, os.X_OK) and not path.is_symlink() and _begins(path, _MAGIC):
                yield path


def is_program(path: Path) -> bool:
    """Whether a file is an ELF program rather than a script."""
    return _begins(path, _MAGIC)


def is_of_this_machine(path: Path) -> bool:
    """Whether a program is for the same processor architecture as this Python."""
    return _processor(path) == _processor(Path("/proc/self/exe"))


def _processor(path: Path) -> bytes:
    """Return class, byte order and machine from an ELF header."""
    with path.open("rb") as file:
        header = file.read(20)
    return header[4:6] + header[18:20]


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def loading(root: Path, program: str) -> list[str] | None:
    """Return the command that runs a root's program from outside; None if it has no loader.

    Raises:
        HostError: The root lacks the loader.
    """
    path = resolved(root, program)
    name = None if path is None else loader(outside(root, path))
    if path is None or name is None:
        return None
    return [*loaded_by(root, name), str(outside(root, path))]


def loaded_by(root: Path, name: str) -> list[str]:
    """Return the command that runs the root's loader from outside, with the root's libraries."""
    inside = resolved(root, name)
    if inside is None:
        raise HostError(
            f"the toolbox has no {name}",
            "rebuild it: httpbed toolbox remove --all, then httpbed toolbox build",
        )
    libraries = ":".join(_library_folders(root))
    return [str(outside(root, inside)), "--inhibit-cache", "--library-path", libraries]


def _library_folders(root: Path) -> list[str]:
    """Return the loader's usual folders as seen from outside, this architecture's first."""
    tops = [root / top for top in ("usr/local/lib", "usr/lib", "usr/lib64")]
    machine = [
        folder for top in tops for folder in sorted(top.glob(f"{os.uname().machine}-linux-*"))
    ]
    return [str(folder) for folder in (*machine, *tops) if folder.is_dir()]


def loader(program: Path) -> str | None:
    """Return the loader named in a program's ELF header; None if it is static."""
    with program.open("rb") as file:
        header = file.read(64)
        if header[:6] != _MAGIC + b"\x02\x01":  # 64 bits, little-endian
            return None
        table, size, count = (
            int.from_bytes(header[start:end], "little")
            for start, end in ((32, 40), (54, 56), (56, 58))
        )
        for index in range(count):
            file.seek(table + index * size)
            segment = file.read(size)
            if int.from_bytes(segment[:4], "little") == _LOADER:
                file.seek(int.from_bytes(segment[8:16], "little"))
                length = int.from_bytes(segment[32:40], "little")
                return file.read(length).rstrip(b"\0").decode()
    return None


def resolved(root: Path, path: str) -> str | None:
    """Resolve symbolic links as in a chroot; None if the path does not exist."""
    todo, done = [part for part in path.split("/") if part], list[str]()
    links = 0
    while todo:
        part = todo.pop(0)
        if part in (".", ".."):
            done = done[:-1] if part == ".." else done
            continue
        here = root.joinpath(*done, part)
        if here.is_symlink():
            target = str(here.readlink())
            done = [] if target.startswith("/") else done
            todo = [part for part in target.split("/") if part] + todo
            links += 1
        elif here.exists():
            done.append(part)
        else:
            return None
        if links > _MOST_LINKS:
            return None
    return "/" + "/".join(done)


def outside(root: Path, path: str) -> Path:
    """Return the path of a root's file as seen from outside."""
    return root / path.lstrip("/")
