"""The identity of a program: its digest, and what it consists of besides.

Of a program in a root filesystem, that is the root's packages: the archive signs their digests, and
nothing else is in the root. Of a program of the user's, it is the digest of each library.

Nothing is executed to find that out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from httpbed.base import disk, user_file
from httpbed.base.errors import HostError
from httpbed.bed.toolbox import root_files
from httpbed.bed.toolbox.toolbox import Root

_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True)
class ProgramIdentity:
    """The identity of a program's build."""

    name: str
    path: str
    """Path inside the root without symbolic links, such as ``/usr/sbin/nginx``."""
    sha256: str
    libraries: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each shared library that a program of the user's loads at its start, by path."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Version and SHA-256 of each package in its root."""
    index: str = ""
    """Date of the package index that its root was installed from."""
    index_expired: bool = False
    """Whether that index had expired."""


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
        sha256=disk.sha256(root_files.outside(root.path, path)),
        packages={
            name: " ".join(filter(None, (version, root.digests.get(name))))
            for name, version in sorted(root.versions.items())
        },
        index=root.index,
        index_expired=root.index_expired,
    )


def of_this_machine(program: Path, libraries: Mapping[str, Path]) -> ProgramIdentity:
    """Identify a program of the user, which runs with these libraries of this machine."""
    return ProgramIdentity(
        name=program.name,
        path=str(program),
        sha256=_digest(program),
        libraries={str(path): _digest(path) for path in sorted(libraries.values())},
    )


def _digest(file: Path) -> str:
    """Return the SHA-256 of a file of the user's, in whose place there may be a pipe by now."""
    try:
        with user_file.opened(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, user_file.NotAFileError) as error:
        raise HostError(f"{file} cannot be read: {error}", "name another program") from None


def argv(root: Root, program: str) -> list[str] | None:
    """Return the command that runs a root's tool from outside; None if there is none."""
    path = _find(root.path, program)
    return None if path is None else root_files.loading(root.path, path)


def _find(root: Path, program: str) -> str | None:
    places = [program] if program.startswith("/") else [f"{place}/{program}" for place in _PATH]
    for place in places:
        path = root_files.resolved(root, place)
        if path is not None and os.access(root_files.outside(root, path), os.X_OK):
            return path
    return None
