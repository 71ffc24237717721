"""Which program exactly: the digest of a program in a root, and of each library it loads.

The root's own dynamic loader is asked, from outside and without a chroot.

Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host.packages import elf
from httpbed.host.packages.toolbox import Root

_MISSING = re.compile(r"error while loading shared libraries: ([^/:\s]+):")
_MOST_PRIVATE = 10
"""Folders of libraries that only other libraries know."""
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class ProgramIdentity:
    """A program in a root, told apart from every other build of it."""

    name: str
    path: str
    """Inside the root, such as ``/usr/sbin/nginx``, with no symbolic link left."""
    sha256: str
    libraries: dict[str, str]
    """The SHA-256 of each shared library it loads at its start, by path inside the root."""


def identity(root: Root, program: str) -> ProgramIdentity:
    """Identify a program by its name, searched in the root's PATH, or by its path inside."""
    path = _find(root.path, program)
    if path is None:
        raise HostError(
            f"{program} is not in the toolbox of {root.suite}",
            "name its package in the recipe's [install]; or, if something removed it there:"
            " httpbed toolbox remove --all, then httpbed toolbox build",
        )
    return ProgramIdentity(
        name=Path(program).name,
        path=path,
        sha256=_sha256(elf.outside(root.path, path)),
        libraries={
            library: _sha256(elf.outside(root.path, library))
            for library in sorted(_libraries(root.path, path))
        },
    )


def of_this_machine(program: Path) -> ProgramIdentity:
    """Identify a program of the user's, which runs in this machine's own filesystem."""
    return ProgramIdentity(
        name=program.name,
        path=str(program),
        sha256=_sha256(program),
        libraries={str(path): _sha256(path) for path in sorted(libraries(program).values())},
    )


def libraries(program: Path) -> dict[str, Path]:
    """The libraries that a program of this machine's loads at its start, by name.

    Raises:
        HostError: One of them, or the loader, is missing.
    """
    loader = elf.loader(program)
    if loader is None:
        return {}
    if not Path(loader).exists():
        raise _missing_here(program, loader)
    found = {Path(loader).name: Path(loader)}
    for name, place in _listed([loader, "--list", str(program)]):
        if not place.startswith("/"):
            raise _missing_here(program, name)
        found[Path(name).name] = Path(place)
    return found


def _missing_here(program: Path, name: str) -> HostError:
    return HostError(
        f"{program} needs {name}, which this machine does not have",
        "install it, or say in LD_LIBRARY_PATH where it is, or link the program statically",
    )


def argv(root: Root, program: str) -> list[str] | None:
    """Say how to run a program of the root from outside; None if it cannot be."""
    path = _find(root.path, program)
    return None if path is None else elf.loading(root.path, path)


def _find(root: Path, program: str) -> str | None:
    places = [program] if program.startswith("/") else [f"{place}/{program}" for place in _PATH]
    for place in places:
        found = elf.resolved(root, place)
        if found is not None and os.access(elf.outside(root, found), os.X_OK):
            return found
    return None


def _libraries(root: Path, program: str) -> Iterator[str]:
    """Yield the loader and every library that it would load for a program."""
    loader = elf.loader(elf.outside(root, program))
    if loader is None:  # static, or a script
        return
    start = elf.loaded_by(root, loader)
    yield start[0].removeprefix(str(root))
    for name, place in _listed_in(root, start, str(elf.outside(root, program))):
        if not name.startswith("/"):
            yield _inside(root, name, place)


def _listed_in(root: Path, start: list[str], program: str) -> Iterator[tuple[str, str]]:
    """List libraries in a root, those besides that only another library's own path leads to.

    Such a path (ELF's RUNPATH) is absolute, and from outside leads to this machine's folders.
    """
    *command, folders = start
    for _ in range(_MOST_PRIVATE):
        asked = [*command, folders, "--list", program]
        missing = _MISSING.search(_run(asked).stderr)
        if missing is None:
            return _listed(asked)
        private = next((root / "usr/lib").glob(f"*/*/{missing[1]}"), None)
        if private is None:
            raise _lacking(missing[1])
        folders += f":{private.parent}"
    raise HostError(f"{program} has too many libraries in folders of their own", "use another one")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _listed(command: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what a loader lists: each library's name, and where it was found."""
    listed = _run(command)
    for line in listed.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            yield name, rest.partition(" (")[0]


def _inside(root: Path, name: str, place: str) -> str:
    """Turn where the loader found a library into its path inside the root."""
    if place.startswith(f"{root}/"):
        found = elf.resolved(root, place.removeprefix(str(root)))
        if found is not None:
            return found
    raise _lacking(name)


def _lacking(name: str) -> HostError:
    return HostError(
        f"the toolbox lacks the library {name}",
        "build it anew (httpbed toolbox remove, then build): the suite may have been in motion",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
