"""What makes a site of a page: a module of this package with two functions.

``outline`` tells what is known of a page before anything is made, and finds what is wrong with it;
``make`` writes the files of its site.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from httpbed.experiment.errors import Mistake
from httpbed.experiment.page import OWN_ORIGIN, KnownPage
from httpbed.web.sites.site import Site

Say = Callable[[str], None]
ICON_PATH = "/favicon.ico"
"""What a browser with a window asks for by itself, where a document names no icon."""


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
    icon: bool | None = None
    """Whether a load asks for ``ICON_PATH``; None where no browser does so by itself."""
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
        bytes_of = {"sha256": self.sha256} if self.sha256 else {"version": self.version}
        return said | bytes_of | ({} if self.icon is None else {"icon": self.icon})

    def contradicts(self, page: KnownPage) -> Iterator[Mistake]:
        """Find what an author says of the page that is not so."""
        known = KnownPage.model_validate(self.known())
        for name in self.known():
            asked, found = getattr(page, name), getattr(known, name)
            if asked is not None and asked != found:
                remedy = "leave it out, or name the page that was meant"
                yield Mistake(name, f"is {asked}, and the page has {found}", remedy)


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
