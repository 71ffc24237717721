"""Where a program comes from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from packaging.utils import is_normalized_name, parse_wheel_filename
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from httpbed.base.errors import RejectedValueError
from httpbed.base.value import Value
from httpbed.bed.toolbox import pypi
from httpbed.bed.toolbox.root_filesystem import Contents

_HOW = 'write "FILE.whl" = "SHA-256" below it; pip download NAME==VERSION and pip hash print both'
_Package = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
"""A package's name (Debian Policy 5.6.7). apt-get would take other words as options, and options
can name commands to be run on this machine."""
_Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


def _with_digests(stated: object) -> object:
    """Reject a list of names: the index may have another file under a name tomorrow."""
    if not isinstance(stated, dict):
        table = '[install.pypi."NAME==VERSION"]'
        raise ValueError(f"is not a table with the SHA-256 of each wheel; begin {table}, {_HOW}")  # noqa: TRY004
    return stated


def _names_wheels(requirement: str, wheels: Iterable[str]) -> None:
    """Raise ValueError for a requirement without a version, or for another version's wheel."""
    name, equals, version = requirement.partition("==")
    if not equals or not is_normalized_name(name):
        raise ValueError(f"{requirement!r} is not NAME==VERSION, with the name as pip writes it")
    if not wheels:
        raise RejectedValueError(f"{requirement} has no wheel", _HOW)
    for wheel in wheels:
        its_name, its_version, _, _ = parse_wheel_filename(wheel)
        if (its_name, str(its_version)) != (name, version):
            raise RejectedValueError(f"{wheel!r} is not a wheel of {requirement}", _HOW)


class Install(Value):
    """A program's origin: packages of a Debian suite, httpbed's executable, or the user's."""

    suite: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9-]*$")
    """Debian suite of the program's root filesystem."""
    packages: list[_Package] = Field(default_factory=list)
    """Packages of that suite."""
    pypi: Annotated[dict[str, dict[str, _Sha256]], BeforeValidator(_with_digests)] = Field(
        default_factory=dict
    )
    """Packages from PyPI for that root filesystem, with all their dependencies.

    ``NAME==VERSION`` -> file name of each platform's wheel -> its SHA-256."""
    own: str | None = Field(default=None, pattern=r"^httpbed-[a-z]+$")
    """Name of an executable that comes with httpbed."""
    binary: str | None = None
    """The user's executable: a path, relative to the recipe's folder, or a name on the user's PATH.

    It sees itself, its libraries, and what it ``needs``."""
    needs: list[str] = Field(default_factory=list)
    """Further programs, files and folders that the binary reads: absolute paths, or names of
    programs.

    Programs are shown with their libraries."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> Install:
        places = [self.suite is not None, self.own is not None, self.binary is not None]
        if sum(places) != 1:
            msg = "say exactly one of suite (with packages or pypi), own, and binary"
            raise ValueError(msg)
        if (self.suite is not None) != bool(self.packages or self.pypi):
            msg = "packages and pypi belong to a suite, and a suite has at least one of them"
            raise ValueError(msg)
        if self.needs and self.binary is None:
            msg = "needs belongs to a binary; a suite's root filesystem is whole"
            raise ValueError(msg)
        for name in self.needs:
            if "/" in name and not name.startswith(("/", "~/")):
                msg = f"needs: {name!r} is neither an absolute path nor a bare name"
                raise ValueError(msg)
            if ".." in name.split("/"):
                msg = f"needs: {name!r} has '..', which would be another place in a trial"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _pins_wheels(self) -> Install:
        for requirement, wheels in self.pypi.items():
            _names_wheels(requirement, wheels)
        return self

    def beside(self, folder: Path) -> Install:
        """Return the origin with a binary's relative path resolved against a recipe's folder."""
        if self.binary is None or "/" not in self.binary:
            return self
        return self.model_copy(update={"binary": str(folder / Path(self.binary).expanduser())})

    def contents(self) -> Contents | None:
        """Return what the program's root filesystem contains; None if it is this machine's own."""
        if self.suite is None:
            return None
        pinned = (pypi.pinned(name, wheels.values()) for name, wheels in self.pypi.items())
        return Contents(self.suite, frozenset(self.packages), frozenset(pinned))

    def program(self, name: str) -> str | None:
        """Return the path of recipe ``name``'s program inside a trial; None if a root has it."""
        if self.suite is not None:
            return None
        return f"{folder(name)}/{Path(self.own or self.binary or '').name}"

    def environment(self, name: str) -> dict[str, str]:
        """Return the variables with which such a program finds the libraries beside it."""
        return {} if self.suite is not None else {"LD_LIBRARY_PATH": folder(name)}

    def summary(self) -> str:
        """Return the origin in a few words."""
        if self.own or self.binary:
            return f"httpbed's own {self.own}" if self.own else f"your own: {self.binary}"
        return str(self.contents())


def folder(name: str) -> str:
    """Return the folder, inside a trial, of a program that is in no root, and of its libraries."""
    return f"/programs/{name}"
