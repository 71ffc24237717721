"""Pages with a number of images of one size: Biswal & Gnawali (GLOBECOM 2016), section 3, table 2.

Their pages have 2 to 128 objects of 100 B to 100 KB. An object is an embedded image; the page
itself
is one more request. There are no others: the style is in the page, and the icon is an empty data
URL.

The images form a grid that fills the viewport, so each is visible from the beginning. The browser
defers none, requests all at once, and the Speed Index covers every one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from httpbed.addons.pages.page import SyntheticPage
from httpbed.addons.pages.sites.generated import images
from httpbed.addons.pages.sites.generated.files import GeneratedFile, document, write_site
from httpbed.addons.pages.sites.site import MAX_BYTES, Outline, Say, Site
from httpbed.base.errors import ConfigError, Mistake

_STYLE = (
    "html,body{{margin:0;height:100%}}"
    "body{{display:grid;grid-template-columns:repeat({columns},1fr);"
    "grid-template-rows:repeat({rows},minmax(0,1fr))}}"
    "img{{width:100%;height:100%}}"
)


def outline(page: SyntheticPage, _folder: Path) -> Outline:
    """Return what is known of the page, which is all but its images' bytes.

    Raises:
        ConfigError: It is larger than a site may be.
    """
    weight = page.objects * page.size + len(_document(page).body)
    if weight > MAX_BYTES:
        reason = f"{page.objects} images of {page.size} B are more than {MAX_BYTES} bytes"
        raise ConfigError([Mistake("objects", reason, "use fewer or smaller images")])
    name = f"{page.objects}x{page.size}"
    return Outline(name, images.ENCODER, requests=page.objects + 1, weight=weight)


def make(page: SyntheticPage, seed: int, _folder: Path, into: Path, _say: Say) -> Site:
    """Write the page and its images."""
    name = f"{page.objects} images of {page.size} B"
    return write_site(files(page, seed), into, name, f"seed {seed}, {images.ENCODER}")


def files(page: SyntheticPage, seed: int) -> Iterator[GeneratedFile]:
    """Yield the page, then its images, each with different content."""
    yield _document(page)
    for number in range(1, page.objects + 1):
        body, _ = images.make(seed, number, page.size)
        yield GeneratedFile(_path(page, number), body)


def _document(of: SyntheticPage) -> GeneratedFile:
    columns = math.ceil(math.sqrt(of.objects))
    style = _STYLE.format(columns=columns, rows=math.ceil(of.objects / columns))
    body = "\n".join(f'<img src="{_path(of, number)}">' for number in range(1, of.objects + 1))
    return document(f"{of.objects} x {of.size} B", f"<style>{style}</style>", body)


def _path(page: SyntheticPage, number: int) -> str:
    return f"/{number:04d}.{images.encoding(page.size)}"
