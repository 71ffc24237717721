"""Mirrors a page: collect its files, load it, fetch what scripts requested, and load it again.

A browser requests more than a page's text refers to. So a browser loads the collected files, and
requests without a response are fetched, too, until two loads in a row send the same requests and
all succeed. A page that still requests other origins or missing files is rejected with their list.
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

from httpbed.addons.pages.mirror import crawler, local_folder
from httpbed.addons.pages.mirror.browser_load import LoadedRequests
from httpbed.addons.pages.mirror.crawler import CollectedPage, Fetch, MirrorLimits
from httpbed.addons.pages.mirror.file_names import OTHERS
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import Site, file_of, url_path, write_files
from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.workload import OWN_ORIGIN

MOST_ROUNDS = 5
Files = dict[str, bytes]
Say = Callable[[str], None]


class SiteLoader(Protocol):
    """Loads a site with a browser."""

    def load(self, site: Path, scratch: Path) -> LoadedRequests:
        """Load a site once; artifacts stay below ``scratch``."""
        ...


class PageSource(Protocol):
    """A page that is to be mirrored."""

    name: str

    @property
    def entry(self) -> str:
        """Return the path of its document, as in a URL."""
        ...

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and the changes in them."""
        ...

    def fetch(self, load: LoadedRequests) -> bool:
        """Fetch what a load lacked; return whether there was anything."""
        ...


@dataclass
class FolderSource:
    """A page in a folder."""

    name: str
    path: str
    """Path of its document in the folder."""
    found: Files
    strip: bool

    @property
    def entry(self) -> str:
        """Return the path of its document, as in a URL."""
        return url_path(self.path)

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and the changes in them."""
        made, changes = Files(), list[str]()
        for path, body, changed in local_folder.repaired(self.found, strip=self.strip):
            made[path] = body
            changes += [f"/{path}: {one}" for one in changed]
        return made, changes

    def fetch(self, load: LoadedRequests) -> bool:
        """Return False: there is nothing beyond the folder."""
        del load
        return False


@dataclass
class UrlSource:
    """A page on the web."""

    name: str
    found: CollectedPage
    get: Fetch
    strip: bool
    aliases: dict[str, str] = field(default_factory=dict)
    """Paths that scripts request, and the URLs of the files served there."""

    @property
    def entry(self) -> str:
        """Return the path of its document, as in a URL."""
        return url_path(self.found.places.add(self.found.entry, "text/html"))

    def files(self) -> tuple[Files, list[str]]:
        """Return its files by path, and the changes in them."""
        made, changes = Files(), list[str]()
        for path, body, url, changed in crawler.rewritten(self.found, strip=self.strip):
            made[path] = body
            changes += [f"{url}: {one}" for one in changed]
        made |= {path: self.found.got[url].body for path, url in self.aliases.items()}
        return made, changes

    def fetch(self, load: LoadedRequests) -> bool:
        """Fetch what a load lacked; return whether there was anything."""
        here = {self._url(path): path for path in load.missing}
        came = self.found.add([*here, *load.outside], self.get)
        crawler.follow(self.found, came, self.get)
        for url in came:
            path = file_of(here[url]) if url in here else ""
            if self.found.places.take(path):
                self.aliases[path] = url
        return bool(came)

    def _url(self, path: str) -> str:
        """Return the original URL of a path on the mirror's origin."""
        other = re.match(f"/{OTHERS}/([^/]+)(/.*)", path)
        if other:
            return f"{urlsplit(self.found.entry).scheme}://{other[1]}{other[2]}"
        return urljoin(self.found.entry, path)


def from_url(url: str, get: Fetch, bounds: MirrorLimits, *, strip: bool) -> UrlSource:
    """Fetch a page and everything that its text refers to.

    Raises:
        ConfigError: It cannot be fetched, or exceeds its limits.
    """
    found = crawler.collect(url, get, bounds)
    return UrlSource(urlsplit(found.entry).hostname or "page", found, get, strip)


def from_folder(folder: Path, entry: str, bounds: MirrorLimits, *, strip: bool) -> FolderSource:
    """Read a page from a folder.

    Raises:
        ConfigError: With everything in it that cannot be served.
    """
    name = folder.resolve().name or "page"
    return FolderSource(name, entry, local_folder.read(folder, entry, bounds), strip)


def mirror(source: PageSource, target: Path, loader: SiteLoader, say: Say) -> Site:
    """Make a page self-contained, and write it into a new folder.

    Raises:
        ConfigError: It requests other origins, missing files, or other things at each load.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mirror-") as scratch:
        place = Path(scratch)
        before: LoadedRequests | None = None
        for number in range(1, MOST_ROUNDS + 1):
            files, changes = source.files()
            made = place / f"site-{number}"
            write(source, files, before, changes, made)
            say(f"loading the page with {len(files)} files, time {number}")
            load = loader.load(made, place)
            wrong = mistakes(source, load)
            if before == load and not wrong:
                made.chmod(0o755)
                made.rename(target)
                return sites.read(target)
            if wrong and not source.fetch(load):
                raise ConfigError(wrong)
            before = load
        raise ConfigError(_unsteady(source, load))


def mistakes(source: PageSource, load: LoadedRequests) -> list[Mistake]:
    """Return why a load shows that a page is not self-contained."""
    remedy = "remove it from the page, or use --strip to remove what the page's text refers to"
    return [
        *(Mistake(url, "is requested from another origin", remedy) for url in sorted(load.outside)),
        *(
            Mistake(path, "is requested and does not exist", remedy)
            for path in sorted(load.missing)
        ),
        *(Mistake(path, _IN_PARTS, _AT_REST) for path in sorted(load.in_parts)),
        *([Mistake(source.name, f"the load ended: {load.ended}")] if load.ended else []),
    ]


_IN_PARTS = "is requested in parts, as players do, and the browser varies their number"
_AT_REST = 'give video and audio preload="none" and no autoplay, or remove them'


def _unsteady(source: PageSource, load: LoadedRequests) -> list[Mistake]:
    reason = "sends other requests at each load"
    return mistakes(source, load) or [Mistake(source.name, reason, "remove what is random in it")]


def write(
    source: PageSource,
    files: Files,
    load: LoadedRequests | None,
    changes: Iterable[str],
    folder: Path,
) -> None:
    """Write a site that lists the requests of a load; before the first load, its document alone."""
    sites.served(folder).mkdir(parents=True)
    paths = load.paths if load else {source.entry: 1}
    description = "; ".join([f"mirrored: {source.name}", *changes])
    sites.write(
        Site(
            schema=sites.SCHEMA,
            name=source.name[:_LONGEST_NAME],
            source=description,
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
        ConfigError: It exists and is not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ConfigError([Mistake(str(target), "exists already", "choose another with -o")])
    if target.exists():
        shutil.rmtree(target)
