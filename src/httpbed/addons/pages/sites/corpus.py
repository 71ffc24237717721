"""The corpus: real pages from npm and Debian packages, as listed in ``corpus.toml``.

This module has values only; :mod:`httpbed.addons.pages.sites.corpus_maker` makes the sites.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field

from httpbed.base.value import Value


class Package(Value):
    """One version of a package in a registry."""

    registry: Literal["npm", "debian"]
    name: str
    version: str
    sha256: str
    """Digest of the package file."""
    suite: str = "trixie"
    """Debian suite."""
    top: str
    """Folder of the package that is served as ``/``."""

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


class Share(Value):
    """Requests and bytes of one kind of resource on a page."""

    requests: int
    bytes: int


class CorpusPage(Value):
    """A page of the corpus."""

    package: str
    """Key of its package in the list."""
    entry: Annotated[str, Field(pattern="^/")]
    """Path of its document."""
    images: tuple[int, int] | None = None
    """Range of the images that the page keeps, in the order of its text: first, and last + 1."""
    also: list[str] = Field(default_factory=list)
    """Paths that a cold load requests although the page's text does not show it."""
    never: list[str] = Field(default_factory=list)
    """Paths that a cold load does not request although the page's text suggests it."""
    groups: list[str] = Field(default_factory=list)
    """Sets of pages that a study loads."""
    requests: int = 0
    weight: int = 0
    """Bytes of all bodies of a cold load."""
    sha256: str = ""
    """Digest of the site."""
    by_type: dict[str, Share] = Field(default_factory=dict)
    """Share of each kind of resource (:data:`httpbed.addons.pages.sites.content_types.KINDS`)."""


class Corpus(Value):
    """All packages and pages of the corpus."""

    schema_: Annotated[int, Field(ge=1, le=1, alias="schema")]
    packages: dict[str, Package]
    sites: dict[str, CorpusPage]


@functools.cache
def read() -> Corpus:
    """Read ``corpus.toml``."""
    file = resources.files(__package__).joinpath("corpus.toml")
    return Corpus.model_validate(tomllib.loads(file.read_text("utf-8")))


def group(name: str) -> list[str]:
    """List the pages of a group, in the order of the corpus."""
    return [page for page, entry in read().sites.items() if name in entry.groups]
