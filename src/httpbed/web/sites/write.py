"""How files become the resources of a site: each at the path of its URL, with its name's type."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from httpbed.web.sites import repair, types
from httpbed.web.sites import site as sites
from httpbed.web.sites.site import Resource


def lay(files: Iterable[tuple[str, bytes]], asked: Mapping[str, int], into: Path) -> list[Resource]:
    """Write files below ``into``, and return their resources.

    Args:
        files: Path below the origin's folder, and content, of each.
        asked: How often a cold load asks for a path of a URL, which may have a query; what is of
            no file is passed over.
        into: Folder of the site.
    """
    laid = [_laid(path, body, asked, into) for path, body in files]
    return [*laid, *_under_other_urls(laid, asked)]


def file_of(url: str) -> str:
    """Return the path of a URL's file below its origin's folder."""
    return unquote(urlsplit(url).path).lstrip("/")


def _laid(path: str, body: bytes, asked: Mapping[str, int], into: Path) -> Resource:
    target = sites.served(into) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(body)
    url = repair.as_url(path)
    return Resource(
        origin=0,
        path=url,
        file=f"0/{path}",
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        type=types.of(path),
        requested=asked.get(url, 0),
    )


def _under_other_urls(laid: Iterable[Resource], asked: Mapping[str, int]) -> Iterator[Resource]:
    """Yield what is asked for under another URL than its file's own: with a query."""
    by_file = {one.file: one for one in laid}
    own = {one.path for one in by_file.values()}
    for url, count in sorted(asked.items()):
        if url not in own and (one := by_file.get(f"0/{file_of(url)}")):
            yield one.model_copy(update={"path": url, "requested": count})
