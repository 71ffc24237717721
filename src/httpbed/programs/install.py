"""Where a program comes from, and why an executable of the user's cannot be run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from packaging.utils import is_normalized_name, parse_wheel_filename
from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from httpbed.base import spellings
from httpbed.base.errors import Mistake, RejectedValueError
from httpbed.base.value import Value
from httpbed.bed.toolbox import elf, pypi
from httpbed.bed.toolbox.elf import DamagedError
from httpbed.bed.toolbox.root_filesystem import IMAGES, Contents

PROGRAMS = "/programs"
"""The folder, inside a trial, of programs that are in no root filesystem."""
OF_THE_USER = f"{PROGRAMS}/user"
"""The folder, inside a trial, of the user's executable and its libraries."""
_HOW = 'write "FILE.whl" = "SHA-256" below it; pip download NAME==VERSION and pip hash print both'
_Package = Annotated[str, StringConstraints(pattern=spellings.PACKAGE)]
_Sha256 = Annotated[str, StringConstraints(pattern=spellings.SHA256)]


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
    """A program's origin: a Debian suite, an image, httpbed's executable, or the user's."""

    suite: str | None = Field(default=None, pattern=spellings.SUITE)
    """Debian suite of the program's root filesystem."""
    packages: list[_Package] = Field(default_factory=list)
    """Packages of that suite."""
    pypi: Annotated[dict[str, dict[str, _Sha256]], BeforeValidator(_with_digests)] = Field(
        default_factory=dict
    )
    """Packages from PyPI for that root filesystem, with all their dependencies.

    ``NAME==VERSION`` -> file name of each platform's wheel -> its SHA-256."""
    on_demand: bool = False
    """Whether the root filesystem is built only for those who name the program."""
    own: str | None = Field(default=None, pattern=spellings.OWN_PROGRAM)
    """Name of an executable that comes with httpbed."""
    image: str | None = Field(default=None, pattern=spellings.DIGEST)
    """A container image in the toolbox: the digest of its configuration, which contains those of
    its layers."""
    contract: str | None = Field(default=None, pattern=spellings.CONTRACT)
    """The contract that folders of the image were prepared for when it was imported."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Variables of the environment that the image states."""
    binary: str | None = None
    """The user's executable: a path, relative to the recipe's folder, or a name on the user's PATH.

    It sees itself, its libraries, and what it ``needs``."""
    needs: list[str] = Field(default_factory=list)
    """Further programs, files and folders that the binary reads: absolute paths, or names of
    programs.

    Programs are shown with their libraries."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> Install:
        places = [self.suite, self.own, self.binary, self.image]
        if sum(place is not None for place in places) != 1:
            raise ValueError(
                "say exactly one of suite (with packages or pypi), own, binary, and image"
            )
        if (self.suite is not None) != bool(self.packages or self.pypi):
            raise ValueError(
                "packages and pypi belong to a suite, and a suite has at least one of them"
            )
        if self.on_demand and self.suite is None:
            raise ValueError(
                "on_demand belongs to a suite; other programs are never installed unasked"
            )
        if (self.contract or self.variables) and self.image is None:
            raise ValueError("contract and variables belong to an image")
        if self.needs and self.binary is None:
            raise ValueError("needs belongs to a binary; a suite's root filesystem is whole")
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

    @property
    def is_users_own(self) -> bool:
        """Whether the user brings the program, so that its digest may be all that identifies it."""
        return self.binary is not None or self.image is not None

    @property
    def has_root(self) -> bool:
        """Whether the program is in a root filesystem of the toolbox."""
        return self.suite is not None or self.image is not None

    @property
    def is_unasked(self) -> bool:
        """Whether the toolbox installs the program for those who name none."""
        return self.suite is not None and not self.on_demand

    def contents(self) -> Contents | None:
        """Return what the program's root filesystem contains; None if it is this machine's own."""
        if self.image is not None:
            return Contents(IMAGES, frozenset(filter(None, (self.image, self.contract))))
        if self.suite is None:
            return None
        pinned = (pypi.pinned(name, wheels.values()) for name, wheels in self.pypi.items())
        return Contents(self.suite, frozenset(self.packages), frozenset(pinned))

    def program(self, name: str) -> str | None:
        """Return the path of recipe ``name``'s program inside a trial; None if a root has it."""
        if self.has_root:
            return None
        return f"{self.folder(name)}/{self.own or 'program'}"

    def folder(self, name: str) -> str:
        """Return the folder, inside a trial, of a program that is in no root, and of its libraries.

        The user's executable has the same path in every trial, whatever its name: the length of the
        path changes the random numbers in a guest.
        """
        return f"{PROGRAMS}/{name}" if self.own else OF_THE_USER

    def environment(self, name: str) -> dict[str, str]:
        """Return the image's variables, or those by which the libraries beside it are found."""
        return self.variables if self.has_root else {"LD_LIBRARY_PATH": self.folder(name)}

    def source(self) -> str:
        """Return where it comes from, in a word or two."""
        if self.binary or self.image:
            return "your own" if self.binary else "image"
        return "PyPI" if self.pypi else self.suite or "sources"

    def summary(self) -> str:
        """Return the origin in a few words."""
        if self.own or self.binary:
            return f"httpbed's own {self.own}" if self.own else f"your own: {self.binary}"
        if self.image:
            return f"your image {self.image.removeprefix('sha256:')[:12]}"
        return str(self.contents())


# The user's own executables: named by ``--program`` or by a recipe, and why one cannot run.


def named_program(name: str) -> Path:
    """Return the absolute path of a path, or of a bare name of a program, as a shell finds it."""
    return Path((None if "/" in name else shutil.which(name)) or name).expanduser().absolute()


def is_started(needed: Path) -> bool:
    """Whether a file that a program needs is a program, and not a folder, a script or data."""
    try:
        return needed.is_file() and os.access(needed, os.X_OK) and elf.is_program(needed)
    except OSError:
        return False


def missing_needs(recipe: str, install: Install) -> Iterator[Mistake]:
    """Find what the user's executable needs and this machine lacks."""
    place = f"{recipe}: install.needs"
    for name in install.needs:
        needed = named_program(name)
        if not needed.exists():
            where = "is not there" if "/" in name else "is not on the PATH"
            yield Mistake(place, f"{name} {where}", "install it, or take it out of the recipe")
        elif is_started(needed) and (fault := _program_fault(place, needed, "name another one")):
            yield fault


def user_program_mistake(recipe: str, binary: str, option: str = "--program") -> Mistake | None:
    """Return why the user's executable cannot be run; None if it can.

    The remedy has the ``option`` that names another one.
    """
    program, place = named_program(binary), f"{recipe}: install.binary"
    other = f"name another one: {option} {recipe}=PATH"
    if not program.exists():
        remedy = f"it is your own program: {other}"
        if "/" in binary:
            return Mistake(place, f"{binary} is not there", remedy)
        remedy += f"; write ./{binary} for a file that is not on it"
        return Mistake(place, f"{binary} is not on the PATH", remedy)
    if not program.is_file():
        return Mistake(place, f"{program} is no file", other)
    if not os.access(program, os.X_OK):
        return Mistake(place, f"{program} may not be executed by you", f"chmod +x, or {other}")
    return _program_fault(place, program, other)


def _program_fault(place: str, program: Path, other: str) -> Mistake | None:
    """Return why an executable file is no program for this machine, or one that is refused."""
    try:
        if not elf.is_program(program):
            reason = f"{program} is a script, or no program at all"
            remedy = "name the program itself, as scripts hide what is measured"
            return Mistake(place, reason, remedy)
        file = elf.read(program)
    except DamagedError as error:
        return Mistake(place, f"{program} {error}", other)
    except OSError as error:
        return Mistake(place, f"{program} cannot be read by you: {error.strerror}", other)
    if file.processor != elf.this_processor():
        machine = os.uname().machine
        return Mistake(place, f"{program} is for another processor than {machine}", other)
    if refused := elf.loader_refusal(file):
        remedy = (
            "link it for the dynamic loader of this machine and without auditors, or statically"
        )
        return Mistake(place, f"{program} {refused}", remedy)
    return None
