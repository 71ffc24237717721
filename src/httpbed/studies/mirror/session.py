"""The way of a page into a folder: its files, a load, what scripts asked for besides, a load again.

What the text of a page says is not all that a browser asks for. So a browser loads what was
collected, and what it missed is fetched, too, as long as there is more to be had. Two loads in a
row that ask for the same, and get it, end it; a page that still asks outside, or for what is not
there, is rejected with the list of that.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.experiment.page import OWN_ORIGIN
from httpbed.studies.mirror import crawler, local_folder
from httpbed.studies.mirror.browser_load import Asked
from httpbed.studies.mirror.crawler import Bounds, Collected, Fetch
from httpbed.studies.mirror.file_names import OTHERS
from httpbed.web.sites import site as sites
from httpbed.web.sites.site import Site, file_of, url_path, write_files

MOST_ROUNDS = 5
Files = dict[str, bytes]
Say = Callable[[str], None]


class Loads(Protocol):
    """Who loads a site by a browser."""

    def load(self, site: Path, scratch: Path) -> Asked:
        """Load a site, leaving what was seen below ``scratch``."""
        ...


class Source(Protocol):
    """Where a page is from."""

    name: str

    @property
    def entry(self) -> str:
        """Path of its document in a URL."""
        ...

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and what was changed in them."""
        ...

    def fetch(self, asked: Asked) -> bool:
        """Get what a load missed; tell whether anything came."""
        ...


@dataclass
class Folder:
    """A page in a folder."""

    name: str
    path: str
    """Of its document in the folder."""
    found: Files
    strip: bool

    @property
    def entry(self) -> str:
        """Path of its document in a URL."""
        return url_path(self.path)

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and what was changed in them."""
        made, changes = Files(), list[str]()
        for path, body, changed in local_folder.repaired(self.found, strip=self.strip):
            made[path] = body
            changes += [f"/{path}: {one}" for one in changed]
        return made, changes

    def fetch(self, asked: Asked) -> bool:
        """Get nothing: what is not in the folder is not there."""
        del asked
        return False


@dataclass
class Address:
    """A page that is fetched from where it is."""

    name: str
    found: Collected
    get: Fetch
    strip: bool
    aliases: dict[str, str] = field(default_factory=dict)
    """Paths that scripts ask for -> URLs of what they get."""

    @property
    def entry(self) -> str:
        """Path of its document in a URL."""
        return url_path(self.found.places.add(self.found.entry, "text/html"))

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and what was changed in them."""
        made, changes = Files(), list[str]()
        for path, body, url, changed in crawler.rewritten(self.found, strip=self.strip):
            made[path] = body
            changes += [f"{url}: {one}" for one in changed]
        made |= {path: self.found.got[url].body for path, url in self.aliases.items()}
        return made, changes

    def fetch(self, asked: Asked) -> bool:
        """Get what a load missed; tell whether anything came."""
        here = {self._url(path): path for path in asked.missing}
        came = self.found.add([*here, *asked.outside], self.get)
        crawler.follow(self.found, came, self.get)
        for url in came:
            path = file_of(here[url]) if url in here else ""
            if self.found.places.take(path):
                self.aliases[path] = url
        return bool(came)

    def _url(self, path: str) -> str:
        """Return the URL that a path on our origin stands for."""
        other = re.match(f"/{OTHERS}/([^/]+)(/.*)", path)
        if other:
            return f"{urlsplit(self.found.entry).scheme}://{other[1]}{other[2]}"
        return urljoin(self.found.entry, path)


def from_url(url: str, get: Fetch, bounds: Bounds, *, strip: bool) -> Address:
    """Fetch a page with all that its text says it needs.

    Raises:
        ConfigError: It cannot be had, or goes beyond its bounds.
    """
    found = crawler.collect(url, get, bounds)
    return Address(urlsplit(found.entry).hostname or "page", found, get, strip)


def from_folder(folder: Path, entry: str, bounds: Bounds, *, strip: bool) -> Folder:
    """Read a page from a folder.

    Raises:
        ConfigError: With everything in it that cannot be served.
    """
    name = folder.resolve().name or "page"
    return Folder(name, entry, local_folder.read(folder, entry, bounds), strip)


def mirror(source: Source, target: Path, loader: Loads, say: Say) -> Site:
    """Make a page self-contained, and write it into a folder that is not there yet.

    Raises:
        ConfigError: It asks outside or for what is not there, or for other things each time.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mirror-") as scratch:
        place = Path(scratch)
        before: Asked | None = None
        for number in range(1, MOST_ROUNDS + 1):
            files, changes = source.files()
            made = place / f"site-{number}"
            write(source, files, before, changes, made)
            say(f"loading the page with {len(files)} files, time {number}")
            asked = loader.load(made, place)
            wrong = mistakes(source, asked)
            if before == asked and not wrong:
                made.chmod(0o755)
                made.rename(target)
                return sites.read(target)
            if wrong and not source.fetch(asked):
                raise ConfigError(wrong)
            before = asked
        raise ConfigError(_unsteady(source, asked))


def mistakes(source: Source, asked: Asked) -> list[Mistake]:
    """List why a load is not one of a self-contained page."""
    remedy = "take it out of the page, or let --strip take out what the page's text refers to"
    return [
        *(Mistake(url, "is asked for outside", remedy) for url in sorted(asked.outside)),
        *(Mistake(path, "is asked for and not there", remedy) for path in sorted(asked.missing)),
        *(Mistake(path, _IN_PARTS, _AT_REST) for path in sorted(asked.in_parts)),
        *([Mistake(source.name, f"the load ended: {asked.ended}")] if asked.ended else []),
    ]


_IN_PARTS = "is asked for in parts, as a player does, and in how many is the browser's whim"
_AT_REST = 'give video and audio preload="none" and no autoplay, or take them out'


def _unsteady(source: Source, asked: Asked) -> list[Mistake]:
    reason = "asks for other things each time it is loaded"
    return mistakes(source, asked) or [Mistake(source.name, reason, "make it do without chance")]


def write(
    source: Source, files: Files, asked: Asked | None, changes: Iterable[str], folder: Path
) -> None:
    """Write a site of what a load asked for; before the first load, of its document alone."""
    sites.served(folder).mkdir(parents=True)
    paths = asked.paths if asked else {source.entry: 1}
    said = "; ".join([f"mirrored: {source.name}", *changes])
    sites.write(
        Site(
            schema=sites.SCHEMA,
            name=source.name[:_LONGEST_NAME],
            source=said,
            entry=source.entry,
            origins=[OWN_ORIGIN],
            resources=write_files(sorted(files.items()), paths, folder),
        ),
        folder,
    )


_LONGEST_NAME = 100


def refuse_existing(target: Path) -> None:
    """Refuse to write over a folder.

    Raises:
        ConfigError: It is there and not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError([Mistake(str(target), "is there already", "choose another with -o")])
    if target.exists():
        shutil.rmtree(target)
