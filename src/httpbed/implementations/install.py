"""Where a program comes from."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

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
    binary: Path | None = None
    """The user's own executable, in this machine's filesystem; relative to the recipe."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> Install:
        places = [self.suite is not None, self.own is not None, self.binary is not None]
        if sum(places) != 1:
            msg = "say exactly one of suite (with packages or pypi), own, and binary"
            raise ValueError(msg)
        if (self.suite is not None) != bool(self.packages or self.pypi):
            msg = "packages and pypi belong to a suite, and a suite has at least one of them"
            raise ValueError(msg)
        return self

    @property
    def root(self) -> str:
        """Name of the root filesystem that it runs in, as processes name it."""
        return self.suite or "host"
