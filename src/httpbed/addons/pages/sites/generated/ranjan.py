"""The four sites of Ranjan's report (2019), sections 3.3 and 3.7, rebuilt.

His were four Google Sites, which no longer exist: 5 or 50 JPEG images, small or large, on pages
with scripts, styles and fonts of Google. He gives each page's "resource size": 1.4, 1.7, 2.9 and
19.6 MB. His numbers contradict each other, so no pages can match all of them:

====================  ======================  ==========  ======================================
his site              his images, in bytes    his weight  the rest, if both are right
====================  ======================  ==========  ======================================
5 of 400 B to 8 KB    2 to 40 KB              1.4 MB      1.36 to 1.40 MB: scripts and so on
50 of 400 B to 8 KB   20 to 400 KB            1.7 MB      1.30 to 1.68 MB: may be the same
5 of 128 KB           640 KB                  2.9 MB      2.26 MB: 0.9 MB more, unexplained
50 of 128 KB          6.4 MB                  19.6 MB     13.2 MB: 12 MB more, unexplained
====================  ======================  ==========  ======================================

If the large sites have the scripts of the small ones, their images have 304 and 364 KB. That agrees
with "200KB or above" in his list of parameters (3.3, item 2, and the table of 3.7), but not with
the 128 KB in the names of his sites. So there are two readings:

* ``ranjan-large-few`` and ``ranjan-large-many``: images of 128 KB and his weight; the page's other
  files make up the difference.
* ``ranjan-large-few-200`` and ``ranjan-large-many-200``: his weight and the other files of
  ``ranjan-small-few``; the images share the rest, 304 and 364 KB each.

The number of other files is 12 with the page in every site, because the number of images is his
factor. KB and MB are 10^3 and 10^6 bytes. Small images have evenly spaced lengths from 400 to 8000
bytes, as he says no more. "Resource size" is Chrome's figure for uncompressed files. Google's
scripts are sent compressed, so his transfers were smaller by an unknown amount; these files are not
compressed. His scripts requested more files while they ran; these request none. Neither his
pictures nor Google's files are used.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import fontTools

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites.generated import images
from httpbed.addons.pages.sites.generated.files import (
    GeneratedFile,
    document,
    font,
    script,
    style,
    write_site,
)
from httpbed.addons.pages.sites.site import Outline, Say, Site

SMALLEST_IMAGE = 400
LARGEST_SMALL_IMAGE = 8_000
LARGE_IMAGE = 128_000
_VERSION = f"{images.ENCODER}, fontTools {fontTools.version}"
_STYLES = ("/style/site.css", "/style/theme.css")
_SCRIPTS = tuple(f"/script/{name}.js" for name in ("loader", "view", "menu", "gallery", "count"))
_FONTS = ("Heading", "Text", "Caption", "Note")
_CHARACTERS = 300
"""Gives a font 19 KB, as a web font for Latin has."""
_STYLE_BYTES = 60_000


@dataclass(frozen=True)
class SiteReading:
    """A reading of one of his sites."""

    images: int
    weight: int
    image_bytes: int | None
    """Length of each image; None for small images of different lengths."""


def _images_of(weight: int, count: int) -> int:
    """Return the bytes of each image if the site has the other files of the smallest site."""
    own = SITES["ranjan-small-few"].weight - sum(_small(5))
    return (weight - own) // count


def _small(count: int) -> list[int]:
    """Return the lengths of small images, in ascending order."""
    span = LARGEST_SMALL_IMAGE - SMALLEST_IMAGE
    return [SMALLEST_IMAGE + span * at // (count - 1) for at in range(count)]


SITES = {
    "ranjan-small-few": SiteReading(5, 1_400_000, None),
    "ranjan-small-many": SiteReading(50, 1_700_000, None),
    "ranjan-large-few": SiteReading(5, 2_900_000, LARGE_IMAGE),
    "ranjan-large-many": SiteReading(50, 19_600_000, LARGE_IMAGE),
}
SITES |= {
    "ranjan-large-few-200": SiteReading(5, 2_900_000, _images_of(2_900_000, 5)),
    "ranjan-large-many-200": SiteReading(50, 19_600_000, _images_of(19_600_000, 50)),
}
NAMES: Collection[str] = SITES.keys()


def outline(page: NamedPage, _folder: Path) -> Outline:
    """Return what is known of a site, which is all but its bytes."""
    of = SITES[page.name]
    requests = 1 + len(_STYLES) + len(_SCRIPTS) + len(_FONTS) + of.images
    return Outline(page.name, _VERSION, requests, of.weight)


def make(page: NamedPage, seed: int, _folder: Path, into: Path, _say: Say) -> Site:
    """Write a site."""
    source = f"after Ranjan (2019), seed {seed}, {_VERSION}"
    return write_site(files(page.name, seed), into, page.name, source)


def files(name: str, seed: int) -> Iterator[GeneratedFile]:
    """Yield the page, its styles, fonts, scripts and images; the scripts make up the weight."""
    of = SITES[name]
    pictures = [_picture(seed, at, size) for at, size in enumerate(_sizes(of, seed), 1)]
    fonts = [_font(family, seed + at) for at, family in enumerate(_FONTS)]
    first = [_document(name, pictures), *_styles(seed, fonts), *fonts]
    rest = of.weight - sum(len(file.body) for file in (*first, *pictures))
    return iter([*first, *_scripts(seed, rest), *pictures])


def _sizes(of: SiteReading, seed: int) -> list[int]:
    if of.image_bytes is not None:
        return [of.image_bytes] * of.images
    sizes = _small(of.images)
    random.Random(seed).shuffle(sizes)  # noqa: S311 - an order, not a secret
    return sizes


def _picture(seed: int, number: int, size: int) -> GeneratedFile:
    return GeneratedFile(f"/image/{number:02d}.jpeg", images.jpeg(seed, number, size))


def _document(name: str, pictures: list[GeneratedFile]) -> GeneratedFile:
    links = "\n".join(f'<link rel="stylesheet" href="{path}">' for path in _STYLES)
    scripts = "\n".join(f'<script src="{path}" defer></script>' for path in _SCRIPTS)
    gallery = "\n".join(f'<img src="{each.path}">' for each in pictures)
    body = (
        f"<h1>{name}</h1>\n<p>{len(pictures)} images</p>\n<main>\n{gallery}\n</main>\n"
        "<h6>Images drawn from a seed</h6>\n<small>No such place</small>"
    )
    return document(name, f"{links}\n{scripts}", body)


def _styles(seed: int, fonts: list[GeneratedFile]) -> Iterator[GeneratedFile]:
    faces = "".join(
        f'@font-face {{ font-family: {family}; src: url("{font.path}"); }}\n'
        for family, font in zip(_FONTS, fonts, strict=True)
    )
    for number, (path, head) in enumerate(zip(_STYLES, (faces + _FACES, _THEME), strict=True)):
        yield style(path, head, seed + number, _STYLE_BYTES)


_FACES = """h1 { font-family: Heading; }
p { font-family: Text; }
h6 { font-family: Caption; }
small { font-family: Note; }
"""
_THEME = """body { margin: 0 auto; max-width: 1200px; }
main { display: grid; grid-template-columns: repeat(5, 1fr); gap: 8px; }
img { width: 100%; aspect-ratio: 4 / 3; }
"""


def _font(family: str, seed: int) -> GeneratedFile:
    return font(f"/font/{family.lower()}.ttf", seed, family, _CHARACTERS)


def _scripts(seed: int, size: int) -> Iterator[GeneratedFile]:
    """Yield the scripts, ``size`` bytes in all."""
    count = len(_SCRIPTS)
    for number, path in enumerate(_SCRIPTS):
        own = size * (number + 1) // count - size * number // count
        yield script(path, seed + number, own)
