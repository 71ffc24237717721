"""Where a mirrored page keeps what it got from each URL.

What was on the page's own host keeps its path, for scripts ask for it there; what was on others is
below ``/-/HOST/``. Names come from servers, so each is made a harmless one: no part leads upwards,
none is too long, none differs from another by case alone, and none is both a file and a folder. A
file's ending tells its type, for that is what servers go by.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes, urlsplit

from httpbed.web.sites import content_types
from httpbed.web.sites.site import RESERVED

_LONGEST_PART = 100
_DEEPEST = 25
"""A path of so many such parts, quoted, is no longer than a list of a site may have it."""
OTHERS = "-"
"""The folder of what was on other hosts."""


class Places:
    """The paths of all files of a mirrored page; the same URLs in the same order get the same."""

    def __init__(self, host: str) -> None:
        """Keep what is on ``host``, a name with its port, at its own path."""
        self._host = host
        self._by_url: dict[str, str] = {}
        self._taken = {RESERVED}
        self._folders = {OTHERS}

    def get(self, url: str) -> str | None:
        """Return the path of what came from a URL."""
        return self._by_url.get(url)

    def add(self, url: str, kind: str) -> str:
        """Return the path, below the site's root, for what came from a URL as a media type."""
        if url not in self._by_url:
            self._by_url[url] = self._free(self._wanted(url, kind), url)
        return self._by_url[url]

    def take(self, path: str) -> bool:
        """Take a path for what is asked for there and nowhere else; tell whether it may be."""
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
        """Take a path, or one with another name where it is somebody else's."""
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
    """Return a part of a URL's path as a file's name."""
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
    """Whether a file may be called so on every filesystem."""
    fits = _is_shown(name) and len(name.encode()) <= _LONGEST_PART
    return fits and bool(name.strip(". "))


def _is_shown(name: str) -> bool:
    return name.isprintable() and "/" not in name and "\\" not in name


_LONGEST_SUFFIX = 8
