"""Programs in a root filesystem, looked at from outside: which they are, what they load.

A root's programs find their loader and libraries by absolute paths, which mean others here. So
links are followed as a chroot would, and the root's own loader is told where its libraries are.

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
    """Yield the executables below a folder that are no scripts and no libraries."""
    for place, _, names in sorted(os.walk(folder)):
        for path in (Path(place, name) for name in sorted(names) if ".so" not in name):
            if os.access(path, os.X_OK) and not path.is_symlink() and _begins(path, _MAGIC):
                yield path


def is_program(path: Path) -> bool:
    """Whether it is one that the kernel loads itself, and no script."""
    return _begins(path, _MAGIC)


def is_of_this_machine(path: Path) -> bool:
    """Whether a program is for the same processor as the Python that runs this."""
    return _processor(path) == _processor(Path("/proc/self/exe"))


def _processor(path: Path) -> bytes:
    """Class, byte order and machine in an ELF header."""
    with path.open("rb") as file:
        header = file.read(20)
    return header[4:6] + header[18:20]


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def loading(root: Path, program: str) -> list[str] | None:
    """Begin a command that runs a root's program from outside; None if it has no loader.

    Raises:
        HostError: The root lacks the loader.
    """
    path = resolved(root, program)
    name = None if path is None else loader(outside(root, path))
    if path is None or name is None:
        return None
    return [*loaded_by(root, name), str(outside(root, path))]


def loaded_by(root: Path, name: str) -> list[str]:
    """Begin a command by which the root's loader, run from outside, finds the root's libraries."""
    inside = resolved(root, name)
    if inside is None:
        raise HostError(f"the toolbox has no {name}", "build it anew: httpbed toolbox build")
    libraries = ":".join(_library_folders(root))
    return [str(outside(root, inside)), "--inhibit-cache", "--library-path", libraries]


def _library_folders(root: Path) -> list[str]:
    """List the loader's usual folders, outside, those of this machine's architecture first."""
    tops = [root / top for top in ("usr/local/lib", "usr/lib", "usr/lib64")]
    machine = [
        folder for top in tops for folder in sorted(top.glob(f"{os.uname().machine}-linux-*"))
    ]
    return [str(folder) for folder in (*machine, *tops) if folder.is_dir()]


def loader(program: Path) -> str | None:
    """Read the name of the loader from a program's ELF header; none if it is static."""
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
    """Follow symbolic links as a chroot would: an absolute one starts again at the root."""
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
    """Path of a root's file as it is seen here."""
    return root / path.lstrip("/")
