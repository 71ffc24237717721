"""Sites that are drawn from a seed: their files, and how they become a site in a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from httpbed.experiment.page import OWN_ORIGIN
from httpbed.web.sites import site as sites
from httpbed.web.sites import write
from httpbed.web.sites.site import Site

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
class GeneratedFile:
    """A file of such a site; a cold load asks for each once."""

    path: str
    """In its URL, with the leading slash."""
    body: bytes


class Random:
    """The random numbers of one file: PCG64's own output, which no release of NumPy changes."""

    def __init__(self, *names: int) -> None:
        """Begin the stream that has these names."""
        import numpy as np  # noqa: PLC0415 - slow to import, and checking an experiment draws none

        self._generator = np.random.PCG64(np.random.SeedSequence(names))

    def bytes(self, count: int) -> bytes:
        """Draw some bytes."""
        words = self._generator.random_raw(count // 8 + 1)
        return bytes(words.astype("<u8").tobytes()[:count])


def document(title: str, head: str, body: str) -> GeneratedFile:
    """Return the page; its icon is an empty data URL, so that no browser asks for one."""
    text = _PAGE.format(title=title, head=head, body=body)
    return GeneratedFile(ENTRY, text.encode())


def lay(files: Iterable[GeneratedFile], into: Path, name: str, source: str) -> Site:
    """Write a site's files, the page first, and return its list."""
    files = list(files)
    return Site(
        schema=sites.SCHEMA,
        name=name,
        source=source,
        entry=ENTRY,
        origins=[OWN_ORIGIN],
        resources=write.lay(
            [(one.path.lstrip("/"), one.body) for one in files],
            dict.fromkeys((one.path for one in files), 1),
            into,
        ),
    )
