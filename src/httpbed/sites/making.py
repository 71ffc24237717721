"""What makes a site of a page: a module of this package with two functions.

``outline`` tells what is known of a page before anything is made, and finds what is wrong with it;
``make`` writes the files of its site.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from httpbed.model.page import OWN_ORIGIN
from httpbed.sites.site import Site

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outline:
    """What is known of a page before its site is made."""

    name: str
    """In a few words, for people and for the name of its folder."""
    version: str
    """Differs where the same page would become another site."""
    requests: int
    weight: int
    """Bytes of all bodies of a cold load; of pages that are not made yet, about."""
    entry: str = "/index.html"
    origins: tuple[str, ...] = (OWN_ORIGIN,)
    sha256: str | None = None
    """Digest of the site, where it must be that one."""
    drawn: bool = True
    """Whether the experiment's seed makes a difference."""

    def known(self) -> dict[str, Any]:
        """Say it as an experiment does."""
        said = {
            "requests": self.requests,
            "weight": f"{self.weight} B",
            "entry": self.entry,
            "origins": list(self.origins),
        }
        return said | ({"sha256": self.sha256} if self.sha256 else {})


class Maker(Protocol):
    """What a module of this package offers for its kind of page."""

    def outline(self, page: Any, folder: Path) -> Outline:
        """Tell what is known of a page; names of files are relative to ``folder``.

        Raises:
            ConfigError: With every mistake; its places are relative to the page's table.
        """
        ...

    def make(self, page: Any, seed: int, folder: Path, into: Path, say: Say) -> Site:
        """Write the site's files under ``into / "files"``, and return its list.

        Raises:
            HostError: Something that it needs cannot be had here, or not today.
        """
        ...
