"""The two sites of Zhang and Song (2023), section 4, rebuilt from their description.

Theirs were copies of ucsd.edu and nyu.edu by wget in 2023: "the local-hosted UCSD website contains
13 files and NYU website contains 43 files". They publish one size, that of UCSD's large image:
2,122,257 bytes (Fig. 8). All other sizes are assumptions, listed in :data:`SITES`: a page with
styles, scripts and images as universities' pages have. The rest of UCSD is about a third of its
weight, and NYU has no image of that size. Results that depend on the assumed sizes are not
comparable with theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites.generated import images
from httpbed.addons.pages.sites.generated.files import (
    GeneratedFile,
    document,
    script,
    style,
    write_site,
)
from httpbed.addons.pages.sites.site import Outline, Say, Site

LARGE_IMAGE = 2_122_257
"""Bytes of the only file whose size is published (Fig. 8)."""


@dataclass(frozen=True)
class FileSizes:
    """Sizes of a site's files besides its page, in bytes."""

    styles: tuple[int, ...]
    scripts: tuple[int, ...]
    images: tuple[int, ...]

    def count(self) -> int:
        """Return the number of files, with the page."""
        return 1 + len(self.styles) + len(self.scripts) + len(self.images)


SITES = {
    "zhang-13-files": FileSizes(
        styles=(120_000, 40_000),
        scripts=(90_000, 90_000, 60_000, 30_000),
        images=(LARGE_IMAGE, 200_000, 120_000, 80_000, 40_000, 10_000),
    ),
    "zhang-43-files": FileSizes(
        styles=(100_000, 60_000, 30_000, 20_000),
        scripts=(120_000, 90_000, *[40_000] * 8),
        images=(*[150_000] * 4, *[60_000] * 8, *[20_000] * 8, *[5_000] * 8),
    ),
}
NAMES: Collection[str] = SITES.keys()


def outline(page: NamedPage, _folder: Path) -> Outline:
    """Return what is known of a site, which is all but its bytes."""
    page_file = _own(page.name)
    of = SITES[page.name]
    weight = sum((*of.styles, *of.scripts, *of.images)) + len(page_file.body)
    return Outline(page.name, images.ENCODER, of.count(), weight)


def make(page: NamedPage, seed: int, _folder: Path, into: Path, _say: Say) -> Site:
    """Write a site."""
    source = f"after Zhang and Song (2023), seed {seed}, {images.ENCODER}"
    return write_site(files(page.name, seed), into, page.name, source)


def files(name: str, seed: int) -> Iterator[GeneratedFile]:
    """Yield the page, its styles, scripts and images."""
    of = SITES[name]
    yield _own(name)
    for path, size in _named("/style/{:02d}.css", of.styles):
        yield style(path, _THEME, seed, size)
    for path, size in _named("/script/{:02d}.js", of.scripts):
        yield script(path, seed, size)
    for number, (path, size) in enumerate(_named("/image/{:02d}.jpeg", of.images), 1):
        yield GeneratedFile(path, images.jpeg(seed, number, size))


def _named(pattern: str, sizes: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    return ((pattern.format(number), size) for number, size in enumerate(sizes, 1))


def _own(name: str) -> GeneratedFile:
    of = SITES[name]
    styles = (path for path, _ in _named("/style/{:02d}.css", of.styles))
    scripts = (path for path, _ in _named("/script/{:02d}.js", of.scripts))
    pictures = (path for path, _ in _named("/image/{:02d}.jpeg", of.images))
    head = [f'<link rel="stylesheet" href="{path}">' for path in styles]
    head += [f'<script src="{path}" defer></script>' for path in scripts]
    gallery = "\n".join(f'<img src="{path}">' for path in pictures)
    return document(name, "\n".join(head), f"<h1>{name}</h1>\n<main>\n{gallery}\n</main>")


_THEME = """body { margin: 0; }
main { display: grid; grid-template-columns: repeat(6, 1fr); gap: 4px; }
main img:first-child { grid-column: 1 / -1; height: 300px; }
img { width: 100%; height: 90px; object-fit: cover; }
"""
