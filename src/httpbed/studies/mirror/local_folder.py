"""A page in a folder of the user's, read within bounds, and never from outside that folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from httpbed.experiment.errors import ConfigError, Mistake
from httpbed.studies.mirror.crawler import Bounds
from httpbed.web.sites import content_types, repair
from httpbed.web.sites.site import RESERVED


def read(folder: Path, entry: str, bounds: Bounds) -> dict[str, bytes]:
    """Return the files of a folder by their path in it.

    Raises:
        ConfigError: With everything in it that cannot be served.
    """
    found: dict[str, bytes] = {}
    mistakes, weight = [], 0
    for path in _files(folder):
        name = str(path.relative_to(folder))
        if reason := _wrong(path, name):
            mistakes.append(Mistake(str(path), reason, "take it out of the folder"))
            continue
        weight += path.stat().st_size
        if weight > bounds.most_bytes or len(found) >= bounds.most_files:
            limits = f"more than {bounds.most_bytes} bytes or {bounds.most_files} files"
            remedy = "raise --bytes or --files if that is meant"
            raise ConfigError([*mistakes, Mistake(str(folder), f"has {limits}", remedy)])
        found[name] = path.read_bytes()
    if entry not in found:
        remedy = "say which is the page with --entry"
        mistakes.append(Mistake(str(folder / entry), "is not there", remedy))
    if mistakes:
        raise ConfigError(mistakes)
    return found


def repaired(files: dict[str, bytes], *, strip: bool) -> Iterator[tuple[str, bytes, list[str]]]:
    """Yield path, content and changes of each file; only where asked to, what is outside goes."""
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
    """Yield what is in a folder, in order; no link to a folder is followed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(place, name) for name in folders if Path(place, name).is_symlink())
        yield from (Path(place, name) for name in sorted(names))


def _wrong(path: Path, name: str) -> str:
    if path.is_symlink():
        inside = path.resolve().is_relative_to(path.parents[name.count("/")].resolve())
        if inside and path.is_file():
            return ""
        return "is a link to no file" if inside else "is a link that leads out of the folder"
    if not path.is_file():
        return "is no regular file"
    if name.split("/", maxsplit=1)[0] == RESERVED:
        return "is where httpbed has a file of its own"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "has a name that is no UTF-8"
    return "" if name.isprintable() else "has a name with control characters"
