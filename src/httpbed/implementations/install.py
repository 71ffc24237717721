"""Where a program comes from."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from httpbed.host.toolbox import Contents
from httpbed.model.value import Value


class Install(Value):
    """Packages of a Debian suite, an executable of httpbed's, or one of the user's."""

    suite: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9-]*$")
    """Debian suite of the root filesystem that it runs in."""
    packages: list[str] = Field(default_factory=list)
    """Packages of that suite."""
    pypi: list[str] = Field(default_factory=list)
    """Packages of the Python index that are installed into that root filesystem."""
    own: str | None = None
    """Name of one of httpbed's own executables."""
    binary: str | None = None
    """The user's own executable: a path, which may be relative to the recipe's folder, or a bare
    name, looked up on the user's PATH. It sees itself, its libraries, and what it ``needs``."""
    needs: list[str] = Field(default_factory=list)
    """Further programs, files and folders of this machine that the binary reads: absolute paths,
    or bare names of programs, which are shown with their libraries."""

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
        return self

    def beside(self, folder: Path) -> Install:
        """Take a binary's relative path as of a recipe's folder; a bare name stays one."""
        if self.binary is None or "/" not in self.binary:
            return self
        return self.model_copy(update={"binary": str(folder / Path(self.binary).expanduser())})

    def contents(self) -> Contents | None:
        """What the root filesystem holds that it runs in; None for this machine's own."""
        if self.suite is None:
            return None
        return Contents(self.suite, frozenset(self.packages), frozenset(self.pypi))

    def program(self, name: str) -> str | None:
        """Where the program of recipe ``name`` is seen, if it is not in a root of the toolbox."""
        if self.suite is not None:
            return None
        return f"{folder(name)}/{Path(self.own or self.binary or '').name}"

    def environment(self, name: str) -> dict[str, str]:
        """What such a program needs to find the libraries that are shown beside it."""
        return {} if self.suite is not None else {"LD_LIBRARY_PATH": folder(name)}

    def summary(self) -> str:
        """Say it in a few words."""
        if self.own or self.binary:
            return f"httpbed's own {self.own}" if self.own else f"your own: {self.binary}"
        return str(self.contents())


def folder(name: str) -> str:
    """Where a recipe's program that is in no toolbox is seen, with its libraries."""
    return f"/programs/{name}"
