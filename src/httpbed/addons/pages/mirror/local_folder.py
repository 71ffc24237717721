"""Reads a page from a user's folder, within limits and never from outside of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from httpbed.addons.pages.mirror.crawler import MirrorLimits
from httpbed.addons.pages.sites import content_types, repair
from httpbed.addons.pages.sites.site import RESERVED
from httpbed.base.errors import ConfigError, Mistake


def read(folder: Path, entry: str, bounds: MirrorLimits) -> dict[str, bytes]:
    """Return a folder's files by their paths in it.

    Raises:
        ConfigError: With everything in it that cannot be served.
    """
    contents: dict[str, bytes] = {}
    mistakes, weight = [], 0
    for path in _files(folder):
        name = str(path.relative_to(folder))
        if reason := _wrong(path, name):
            mistakes.append(Mistake(str(path), reason, "remove it from the folder"))
            continue
        weight += path.stat().st_size
        if weight > bounds.most_bytes or len(contents) >= bounds.most_files:
            limits = f"more than {bounds.most_bytes} bytes or {bounds.most_files} files"
            remedy = "raise --bytes or --files if the page is meant to be so large"
            raise ConfigError([*mistakes, Mistake(str(folder), f"has {limits}", remedy)])
        contents[name] = path.read_bytes()
    if entry not in contents:
        remedy = "name the page with --entry"
        mistakes.append(Mistake(str(folder / entry), "does not exist", remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return contents


def repaired(files: dict[str, bytes], *, strip: bool) -> Iterator[tuple[str, bytes, list[str]]]:
    """Yield path, content and changes of each file; ``strip`` removes references to the outside."""
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
