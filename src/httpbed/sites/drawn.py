"""Sites that are drawn from a seed: their files, and how they become a site in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from httpbed.model.page import OWN_ORIGIN
from httpbed.sites import site as sites
from httpbed.sites.site import Resource, Site

ENTRY = "/index.html"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Drawn:
    """A file of such a site; a cold load asks for each once."""

    path: str
    """In its URL, with the leading slash."""
    body: bytes
    type: str
    """Media type."""


class Random:
    """The random numbers of one file: PCG64's own output, which no release of NumPy changes."""

    def __init__(self, *names: int) -> None:
        """Begin the stream that has these names."""
        self._generator = np.random.PCG64(np.random.SeedSequence(names))

    def bytes(self, count: int) -> bytes:
        """Draw some bytes."""
        words = self._generator.random_raw(count // 8 + 1)
        return bytes(words.astype("<u8").tobytes()[:count])


def document(title: str, head: str, body: str) -> Drawn:
    """Return the page; its icon is an empty data URL, so that no browser asks for one."""
    text = _PAGE.format(title=title, head=head, body=body)
    return Drawn(ENTRY, text.encode(), "text/html")


def lay(files: Iterable[Drawn], into: Path, name: str, source: str) -> Site:
    """Write a site's files, the page first, and return its list."""
    return Site(
        schema=sites.SCHEMA,
        name=name,
        source=source,
        entry=ENTRY,
        origins=[OWN_ORIGIN],
        resources=[_laid(each, into) for each in files],
    )


def _laid(drawn: Drawn, into: Path) -> Resource:
    target = sites.served(into) / drawn.path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(drawn.body)
    return Resource(
        origin=0,
        path=drawn.path,
        file=f"0{drawn.path}",
        bytes=len(drawn.body),
        sha256=hashlib.sha256(drawn.body).hexdigest(),
        type=drawn.type,
    )
