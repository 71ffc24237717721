"""The corpus as values: its packages and pages, read from ``corpus.toml``."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field

from httpbed.experiment.value import Value


class Package(Value):
    """A package of a registry, in one version."""

    registry: Literal["npm", "debian"]
    name: str
    version: str
    sha256: str
    """Of the package's file."""
    suite: str = "trixie"
    """Of Debian."""
    top: str
    """The folder in it that is served as ``/``."""

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


class Share(Value):
    """What a page has of one kind of resource."""

    requests: int
    bytes: int


class CorpusPage(Value):
    """A page of the corpus."""

    package: str
    """Which of the packages it is in."""
    entry: Annotated[str, Field(pattern="^/")]
    """Path of its document."""
    images: tuple[int, int] | None = None
    """Of its images in the order of its text, the first that it keeps and the first after these."""
    also: list[str] = Field(default_factory=list)
    """What a cold load asks for besides what the page's text says."""
    never: list[str] = Field(default_factory=list)
    """What it does not ask for although the page's text says so."""
    groups: list[str] = Field(default_factory=list)
    """Sets of pages that a study loads."""
    requests: int = 0
    weight: int = 0
    sha256: str = ""
    """Digest of the site."""
    by_type: dict[str, Share] = Field(default_factory=dict)
    """What it has of each kind of resource (:data:`httpbed.web.sites.types.KINDS`)."""


class Corpus(Value):
    """All of it."""

    schema_: Annotated[int, Field(ge=1, le=1, alias="schema")]
    packages: dict[str, Package]
    sites: dict[str, CorpusPage]


@functools.cache
def read() -> Corpus:
    """Read ``corpus.toml``."""
    file = resources.files(__package__).joinpath("corpus.toml")
    return Corpus.model_validate(tomllib.loads(file.read_text("utf-8")))
