"""The file name of each URL of a mirrored page.

Files of the page's own host keep their paths, because scripts request them there; files of other
hosts are below ``/-/HOST/``. Names come from servers, so they are made harmless: no part leads
upwards or is too long, no two names differ only in case, and none is both a file and a folder. The
suffix gives the type, as servers expect.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes, urlsplit

from httpbed.addons.pages.sites import content_types
from httpbed.addons.pages.sites.site import RESERVED

_LONGEST_PART = 100
_DEEPEST = 25
"""A quoted path of so many parts still fits a site's list."""
OTHERS = "-"
"""The folder of files from other hosts."""


class FileNames:
    """The paths of a page's files; the same URLs in the same order have the same paths."""

    def __init__(self, host: str) -> None:
        """Start with the page's own host, a name with its port."""
        self._host = host
        self._by_url: dict[str, str] = {}
        self._taken = {RESERVED}
        self._folders = {OTHERS}

    def get(self, url: str) -> str | None:
        """Return the path of a URL's file; None if it has none."""
        return self._by_url.get(url)

    def add(self, url: str, kind: str) -> str:
        """Return the path below the site's root for the file of a URL, given its media type."""
        if url not in self._by_url:
            self._by_url[url] = self._free(self._wanted(url, kind), url)
        return self._by_url[url]

    def take(self, path: str) -> bool:
        """Reserve exactly this path; return whether that is possible."""
        parts = path.split("/")
        if len(parts) > _DEEPEST or not all(map(_is_harmless, parts)):
            return False
        wanted = PurePosixPath(path)
        if self._clashes(wanted):
            return False
        self._hold(wanted)
        return True

    def _wanted(self, url: str, kind: str) -> PurePosixPath:
        found = urlsplit(url)
        folders = found.path.split("/")[1:]
        parts = [_harmless(part) for part in folders if part][:_DEEPEST]
        if not folders or not folders[-1]:
            parts.append("index.html")
        path = PurePosixPath(*parts)
        if kind in content_types.TYPES.values() and content_types.of(str(path)) != kind:
            path = path.with_name(path.name + content_types.suffix(kind))
        if found.netloc != self._host:
            path = PurePosixPath(OTHERS, _harmless(found.netloc), path)
        return path

    def _free(self, path: PurePosixPath, url: str) -> str:
        """Reserve a path, or another one if it is taken."""
        if self._clashes(path):
            mark = hashlib.sha256(url.encode(errors="surrogateescape")).hexdigest()[:12]
            path = PurePosixPath(OTHERS, mark + path.suffix.lower())
        self._hold(path)
        return str(path)

    def _hold(self, path: PurePosixPath) -> None:
        self._taken.add(str(path).lower())
        self._folders |= {str(folder).lower() for folder in path.parents}

    def _clashes(self, path: PurePosixPath) -> bool:
        folders = {str(folder).lower() for folder in path.parents}
        name = str(path).lower()
        return name in self._taken or name in self._folders or bool(folders & self._taken)


def _harmless(part: str) -> str:
    """Return a file name for a part of a URL's path."""
    raw = unquote_to_bytes(part)
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        name = ""
    if _is_harmless(name):
        return name
    suffix = PurePosixPath(name).suffix if _is_shown(name) else ""
    mark = hashlib.sha256(raw).hexdigest()[:12]
    return mark + (suffix if len(suffix) <= _LONGEST_SUFFIX else "")


def _is_harmless(name: str) -> bool:
    """Whether every file system accepts this name."""
    fits = _is_shown(name) and len(name.encode()) <= _LONGEST_PART
    return fits and bool(name.strip(". "))


def _is_shown(name: str) -> bool:
    return name.isprintable() and "/" not in name and "\\" not in name


_LONGEST_SUFFIX = 8
