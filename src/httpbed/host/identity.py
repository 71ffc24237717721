"""Which program exactly: the digest of a program in a root, and of each library it loads.

The root's own dynamic loader is asked, from outside and without a chroot.

Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.host.toolbox import Root
from httpbed.model.errors import HostError

_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LOADER = 3
"""The ELF segment type that names the loader (PT_INTERP)."""
_MOST_LINKS = 40


@dataclass(frozen=True)
class Program:
    """A program in a root, told apart from every other build of it."""

    name: str
    path: str
    """Inside the root, such as ``/usr/sbin/nginx``, with no symbolic link left."""
    sha256: str
    libraries: dict[str, str]
    """The SHA-256 of each shared library it loads at its start, by path inside the root."""


def identity(root: Root, program: str) -> Program:
    """Identify a program by its name, searched in the root's PATH, or by its path inside."""
    path = _find(root.path, program)
    if path is None:
        raise HostError(
            f"{program} is not in the toolbox of {root.suite}",
            "name its package in the recipe's [install]; or, if something removed it there:"
            " httpbed toolbox remove --all, then httpbed toolbox build",
        )
    return Program(
        name=Path(program).name,
        path=path,
        sha256=_sha256(_outside(root.path, path)),
        libraries={
            library: _sha256(_outside(root.path, library))
            for library in sorted(_libraries(root.path, path))
        },
    )


def argv(root: Root, program: str) -> list[str] | None:
    """Say how to run a program of the root from outside; None if it cannot be."""
    path = _find(root.path, program)
    loader = None if path is None else _loader(_outside(root.path, path))
    if path is None or loader is None:
        return None
    return [*_loading(root.path, loader), str(_outside(root.path, path))]


def _find(root: Path, program: str) -> str | None:
    places = [program] if program.startswith("/") else [f"{place}/{program}" for place in _PATH]
    for place in places:
        found = _resolved(root, place)
        if found is not None and os.access(_outside(root, found), os.X_OK):
            return found
    return None


def _libraries(root: Path, program: str) -> Iterator[str]:
    """Yield the loader and every library that it would load for a program."""
    loader = _loader(_outside(root, program))
    if loader is None:  # static, or a script
        return
    start = _loading(root, loader)
    yield start[0].removeprefix(str(root))
    words = [*start, "--list", str(_outside(root, program))]
    listed = subprocess.run(words, check=False, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and not name.startswith("/"):
            yield _inside(root, name, rest.partition(" (")[0])


def _loading(root: Path, loader: str) -> list[str]:
    """Begin a command by which the root's loader, run from outside, finds the root's libraries."""
    inside = _resolved(root, loader)
    if inside is None:
        raise HostError(f"the toolbox has no {loader}", "build it anew: httpbed toolbox build")
    libraries = ":".join(_library_folders(root))
    return [str(_outside(root, inside)), "--inhibit-cache", "--library-path", libraries]


def _inside(root: Path, name: str, place: str) -> str:
    """Turn where the loader found a library into its path inside the root."""
    if place.startswith(f"{root}/"):
        found = _resolved(root, place.removeprefix(str(root)))
        if found is not None:
            return found
    raise HostError(
        f"the toolbox lacks the library {name}",
        "build it anew (httpbed toolbox remove, then build): the suite may have been in motion",
    )


def _library_folders(root: Path) -> list[str]:
    """List the loader's usual folders, outside, those of this machine's architecture first."""
    tops = [root / top for top in ("usr/local/lib", "usr/lib", "usr/lib64")]
    machine = [
        folder for top in tops for folder in sorted(top.glob(f"{os.uname().machine}-linux-*"))
    ]
    return [str(folder) for folder in (*machine, *tops) if folder.is_dir()]


def _loader(program: Path) -> str | None:
    """Read the name of the loader from a program's ELF header; none if it is static."""
    with program.open("rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
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


def _resolved(root: Path, path: str) -> str | None:
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


def _outside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
