"""The site is built without a warning, needs no network, and every link in it leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import generate

ROOT = Path(__file__).parents[2]
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "srcset")}
OUTSIDE = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")


class Page(HTMLParser):
    """What a page links to, what a browser loads for it, and which headings can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors = {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the attributes of an element."""
        for name, value in attrs:
            if (tag, name) in LOADED:
                self.loaded.add(value or "")
            elif name == "href":
                self.links.add(value or "")
            elif name == "id":
                self.anchors.add(value or "")


@pytest.mark.slow
def test_every_page_of_the_site_is_whole(tmp_path: Path) -> None:
    """With the reference, which only `make docs` writes."""
    generate.write_reference()
    site = tmp_path / "site"
    build(site)
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert site / "docs/guides/compare.html" in pages
    for path, page in pages.items():
        check_that_nothing_comes_from_outside(page)
        if 'class="highlight"' in path.read_text():
            assert any("copy_button.js" in one for one in page.loaded), path
        for link in page.links | page.loaded:
            check_that_it_leads_somewhere(link, page, pages)
    for style in site.rglob("*.css"):
        assert not OUTSIDE.search(style.read_text()), style


def build(site: Path) -> None:
    """Build as `make docs` does; a warning is an error."""
    words = ["--quiet", "--fail-on-warning", "-c", "docs", "-d", str(site.parent / "doctrees")]
    argv = [sys.executable, "-m", "sphinx", *words, ".", str(site)]
    built = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def check_that_nothing_comes_from_outside(page: Page) -> None:
    """Scripts, styles, pictures and fonts are files of the site."""
    for place in page.loaded:
        assert not urlsplit(place).netloc, f"{page.path} loads {place}"
    assert not OUTSIDE.search(page.path.read_text()), page.path


def check_that_it_leads_somewhere(link: str, page: Page, pages: dict[Path, Page]) -> None:
    """To a file of the site, and to a heading in it; URLs are not followed."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return
    target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
    assert target.is_file(), f"{page.path}: {link}"
    if target in pages:
        assert unquote(parts.fragment) in pages[target].anchors, f"{page.path}: {link}"
