"""Mirrors a folder: read its files, load the page until two loads agree, and copy it.

A browser requests more than a page's text refers to, so the requests that the site lists are those
of a browser. A page that requests other origins or missing files is rejected with their list.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from httpbed.addons.pages.mirror.loader import LoadedRequests, broken_images
from httpbed.addons.pages.sites import content_types, repair
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.site import RESERVED, Site, url_path, write_files
from httpbed.base.errors import ConfigError, Mistake
from httpbed.experiment.workload import OWN_ORIGIN

MAX_BYTES = 500_000_000
MAX_FILES = 10_000
MAX_LOADS = 5
_LONGEST_NAME = 100
Files = dict[str, bytes]
Say = Callable[[str], None]


class SiteLoader(Protocol):
    """Loads a site with a browser."""

    def load(self, site: Path, scratch: Path) -> LoadedRequests:
        """Load a site once; artifacts stay below ``scratch``."""
        ...


@dataclass(frozen=True)
class FolderSource:
    """A page in a folder."""

    name: str
    path: str
    """Path of its document in the folder."""
    files: Files
    changes: tuple[str, ...] = ()
    """Descriptions of the changes in the files."""

    @property
    def entry(self) -> str:
        """Return the path of its document, as in a URL."""
        return url_path(self.path)


def read(folder: Path, entry: str, *, strip: bool) -> FolderSource:
    """Read a page; with ``strip``, references to the outside are removed from its text.

    Raises:
        ConfigError: With everything in the folder that cannot be served.
    """
    files, changes = Files(), list[str]()
    for path, body, changed in _repaired(_contents(folder, entry), strip=strip):
        files[path] = body
        changes += [f"/{path}: {one}" for one in changed]
    return FolderSource(folder.resolve().name or "page", entry, files, tuple(changes))


def mirror(source: FolderSource, target: Path, loader: SiteLoader, say: Say) -> Site:
    """Make a page self-contained, and write it into a new folder.

    Raises:
        ConfigError: It requests other origins, missing files, or other things at each load.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mirror-") as scratch:
        place = Path(scratch)
        before: LoadedRequests | None = None
        for number in range(1, MAX_LOADS + 1):
            made = place / f"site-{number}"
            write(source, before, made)
            say(f"loading the page with {len(source.files)} files, time {number}")
            load = loader.load(made, place)
            if wrong := _mistakes(source, load):
                raise ConfigError(wrong)
            if before == load:
                for line in broken_images(load.broken):
                    say(line)
                made.chmod(0o755)
                made.rename(target)
                return sites.read(target)
            before = load
    reason = "sends other requests at each load"
    raise ConfigError([Mistake(source.name, reason, "remove what is random in it")])


def _mistakes(source: FolderSource, load: LoadedRequests) -> list[Mistake]:
    """Return why a load shows that a page is not self-contained."""
    remedy = "remove it from the page, or use --strip to remove what the page's text refers to"
    in_parts = "is requested in parts, as players do, and the browser varies their number"
    at_rest = 'give video and audio preload="none" and no autoplay, or remove them'
    outside = "is requested from another origin"
    unread = "let the page read what it fetches, or remove the request"
    return [
        *(Mistake(url, outside, remedy) for url in sorted(load.outside)),
        *(
            Mistake(path, "is requested and does not exist", remedy)
            for path in sorted(load.missing)
        ),
        *(Mistake(path, in_parts, at_rest) for path in sorted(load.in_parts)),
        *(
            Mistake(path, f"is requested and not read to its end: {why}", unread)
            for path, why in sorted(load.unfinished.items())
        ),
        *([Mistake(source.name, f"the load ended: {load.ended}")] if load.ended else []),
    ]


def write(source: FolderSource, load: LoadedRequests | None, folder: Path) -> None:
    """Write a site that lists the requests of a load; before the first load, its document alone."""
    sites.served(folder).mkdir(parents=True)
    paths = load.paths if load else {source.entry: 1}
    sites.write(
        Site(
            schema=sites.SCHEMA,
            name=source.name[:_LONGEST_NAME],
            source="; ".join([f"mirrored: {source.name}", *source.changes]),
            entry=source.entry,
            origins=[OWN_ORIGIN],
            resources=write_files(sorted(source.files.items()), paths, folder),
        ),
        folder,
    )


def _contents(folder: Path, entry: str) -> Files:
    """Return a folder's files by their paths in it, never one from outside of it."""
    contents: Files = {}
    mistakes, weight = [], 0
    for path in _files(folder):
        name = str(path.relative_to(folder))
        if reason := _wrong(path, name):
            mistakes.append(Mistake(str(path), reason, "remove it from the folder"))
            continue
        weight += path.stat().st_size
        if weight > MAX_BYTES or len(contents) >= MAX_FILES:
            limits = f"more than {MAX_BYTES} bytes or {MAX_FILES} files"
            remedy = "name the folder of the page alone"
            raise ConfigError([*mistakes, Mistake(str(folder), f"has {limits}", remedy)])
        contents[name] = path.read_bytes()
    if entry not in contents:
        remedy = "name the page with --entry"
        mistakes.append(Mistake(str(folder / entry), "does not exist", remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return contents


def _repaired(files: Files, *, strip: bool) -> Iterator[tuple[str, bytes, Iterable[str]]]:
    """Yield path, content and changes of each file."""
    known = repair.FileIndex(files)
    for path, body in files.items():
        kind = content_types.of(path)
        if not strip or kind not in {"text/html", "text/css"}:
            yield path, repair.with_icon(body) if kind == "text/html" else body, []
            continue
        text, finder = body.decode("utf-8", "surrogateescape"), repair.SiteLinks(f"/{path}", known)
        done = repair.page(text, finder) if kind == "text/html" else repair.sheet(text, finder)
        yield path, done.text.encode("utf-8", "surrogateescape"), done.changes


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder in order, without following links to folders."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in folders if Path(place, name).is_symlink())
        yield from (Path(place, name) for name in sorted(names))


def _wrong(path: Path, name: str) -> str:
    if path.is_symlink():
        inside = path.resolve().is_relative_to(path.parents[name.count("/")].resolve())
        if inside and path.is_file():
            return ""
        return (
            "is a link to something else than a file"
            if inside
            else "is a link that leads out of the folder"
        )
    if not path.is_file():
        return "is not a regular file"
    if name.split("/", maxsplit=1)[0] == RESERVED:
        return "is a name that httpbed uses for its own file"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    return "" if name.isprintable() else "has a name with control characters"
