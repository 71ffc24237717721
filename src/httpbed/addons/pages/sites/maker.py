"""What a maker of sites offers: one module for each kind of page, with two functions.

``outline`` returns what is known of a page before its site is made, and finds its mistakes.
``make`` writes the files of the site.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from httpbed.addons.pages.page import KnownPage
from httpbed.addons.pages.sites.site import Site
from httpbed.base.errors import Mistake
from httpbed.experiment.workload import OWN_ORIGIN

Say = Callable[[str], None]
ICON_PATH = "/favicon.ico"
"""A browser with a window requests this path when a document names no icon."""


@dataclass(frozen=True)
class Outline:
    """What is known of a page before its site is made."""

    name: str
    """A few words for people; also part of the site's folder name."""
    version: str
    """Changes when the same page would produce another site."""
    requests: int
    weight: int
    """Bytes of all bodies of a cold load; an estimate for pages that are not made yet."""
    entry: str = "/index.html"
    origins: tuple[str, ...] = (OWN_ORIGIN,)
    sha256: str | None = None
    """Required digest of the site; None where any site of this version will do."""
    icon: bool | None = None
    """Whether a load requests ``ICON_PATH``; None where no browser does so by itself."""
    uses_seed: bool = True
    """Whether the site depends on the experiment's seed."""

    def known(self) -> dict[str, Any]:
        """Return the outline in the words of an experiment file."""
        fields = {
            "requests": self.requests,
            "weight": f"{self.weight} B",
            "entry": self.entry,
            "origins": list(self.origins),
        }
        identity = {"sha256": self.sha256} if self.sha256 else {"version": self.version}
        return fields | identity | ({} if self.icon is None else {"icon": self.icon})

    def contradicts(self, page: KnownPage) -> Iterator[Mistake]:
        """Yield a mistake for each statement about the page that is wrong."""
        known = KnownPage.model_validate(self.known())
        for name in self.known():
            stated, actual = getattr(page, name), getattr(known, name)
            if stated is not None and stated != actual:
                remedy = "delete it, or name the page that you meant"
                yield Mistake(name, f"is {stated}, but the page has {actual}", remedy)


class Maker(Protocol):
    """A module that makes the sites of one kind of page."""

    def outline(self, page: Any, folder: Path) -> Outline:
        """Return what is known of a page; its file names are relative to ``folder``.

        Raises:
            ConfigError: With every mistake; its places are relative to the page's table.
        """
        ...

    def make(self, page: Any, seed: int, folder: Path, into: Path, say: Say) -> Site:
        """Write the site's files under ``into / "files"``, and return the site's list.

        Raises:
            HostError: Something that the site needs is not available now.
        """
        ...


class NamedPagesMaker(Maker, Protocol):
    """A maker whose pages have names."""

    NAMES: Collection[str]
