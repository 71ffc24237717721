"""The identity of a program: its digest, and that of each shared library that it loads.

The root's own dynamic loader lists the libraries; it runs from outside, without a chroot.

Standard library only.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.errors import HostError
from httpbed.host import file_digest
from httpbed.host.packages import elf
from httpbed.host.packages.toolbox import Root

_MISSING = re.compile(r"error while loading shared libraries: ([^/:\s]+):")
_MOST_PRIVATE = 10
"""Limit of library folders that are named only in other libraries."""
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class ProgramIdentity:
    """The identity of a program's build."""

    name: str
    path: str
    """Path inside the root without symbolic links, such as ``/usr/sbin/nginx``."""
    sha256: str
    libraries: dict[str, str]
    """SHA-256 of each shared library that it loads at its start, by path inside the root."""


def identity(root: Root, program: str) -> ProgramIdentity:
    """Identify a program by its name on the root's PATH, or by its path inside the root."""
    path = _find(root.path, program)
    if path is None:
        raise HostError(
            f"{program} is not in the toolbox of {root.suite}",
            "name its package in the recipe's [install]; if it was removed from the toolbox:"
            " httpbed toolbox remove --all, then httpbed toolbox build",
        )
    return ProgramIdentity(
        name=Path(program).name,
        path=path,
        sha256=file_digest.sha256(elf.outside(root.path, path)),
        libraries={
            library: file_digest.sha256(elf.outside(root.path, library))
            for library in sorted(_libraries(root.path, path))
        },
    )


def of_this_machine(program: Path) -> ProgramIdentity:
    """Identify a program of the user, which runs in this machine's filesystem."""
    return ProgramIdentity(
        name=program.name,
        path=str(program),
        sha256=file_digest.sha256(program),
        libraries={
            str(path): file_digest.sha256(path) for path in sorted(libraries(program).values())
        },
    )


def libraries(program: Path) -> dict[str, Path]:
    """Return the libraries that a program of this machine loads at its start, by name.

    Raises:
        HostError: One of them, or the loader, is missing.
    """
    loader = elf.loader(program)
    if loader is None:
        return {}
    if not Path(loader).exists():
        raise _missing_here(program, loader)
    paths = {Path(loader).name: Path(loader)}
    for name, place in _listed([loader, "--list", str(program)]):
        if not place.startswith("/"):
            raise _missing_here(program, name)
        paths[Path(name).name] = Path(place)
    return paths


def _missing_here(program: Path, name: str) -> HostError:
    return HostError(
        f"{program} needs {name}, which this machine does not have",
        "install it, set LD_LIBRARY_PATH to its folder, or link the program statically",
    )


def argv(root: Root, program: str) -> list[str] | None:
    """Return the command that runs a root's program from outside; None if there is none."""
    path = _find(root.path, program)
    return None if path is None else elf.loading(root.path, path)


def _find(root: Path, program: str) -> str | None:
    places = [program] if program.startswith("/") else [f"{place}/{program}" for place in _PATH]
    for place in places:
        path = elf.resolved(root, place)
        if path is not None and os.access(elf.outside(root, path), os.X_OK):
            return path
    return None


def _libraries(root: Path, program: str) -> Iterator[str]:
    """Yield the loader and every library that it loads for a program."""
    loader = elf.loader(elf.outside(root, program))
    if loader is None:  # static, or a script
        return
    start = elf.loaded_by(root, loader)
    yield start[0].removeprefix(str(root))
    for name, place in _listed_in(root, start, str(elf.outside(root, program))):
        if not name.startswith("/"):
            yield _inside(root, name, place)


def _listed_in(root: Path, start: list[str], program: str) -> Iterator[tuple[str, str]]:
    """List a program's libraries in a root, including those in private folders.

    Private folders are named in another library's RUNPATH, which from outside leads to this
    machine's folders.
    """
    *command, folders = start
    for _ in range(_MOST_PRIVATE):
        request = [*command, folders, "--list", program]
        missing = _MISSING.search(_run(request).stderr)
        if missing is None:
            return _listed(request)
        private = next((root / "usr/lib").glob(f"*/*/{missing[1]}"), None)
        if private is None:
            raise _lacking(missing[1])
        folders += f":{private.parent}"
    raise HostError(
        f"{program} has libraries in more than {_MOST_PRIVATE} private folders", "use another build"
    )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _listed(command: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each library's name and path from a loader's list."""
    listed = _run(command)
    for line in listed.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            yield name, rest.partition(" (")[0]


def _inside(root: Path, name: str, place: str) -> str:
    """Return the path inside the root of a library that the loader found."""
    if place.startswith(f"{root}/"):
        path = elf.resolved(root, place.removeprefix(str(root)))
        if path is not None:
            return path
    raise _lacking(name)


def _lacking(name: str) -> HostError:
    return HostError(
        f"the toolbox lacks the library {name}",
        "rebuild it (httpbed toolbox remove, then build); the suite may have changed meanwhile",
    )
