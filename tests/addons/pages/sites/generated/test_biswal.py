"""Biswal and Gnawali's dense sites match what they publish."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.generated import biswal


def test_15_sites_have_80_to_100_objects_of_the_published_mean() -> None:
    """2.5 MB a site and 25.39 KB an object, each rounded as the paper rounds (section 3.5)."""
    outlines = [biswal.outline(NamedPage(name=name), Path()) for name in biswal.NAMES]
    assert len(outlines) == 15
    assert all(80 <= outline.requests <= 100 for outline in outlines)
    weights = [outline.weight for outline in outlines]
    assert round(mean(weights) / 1e6, 1) == 2.5
    assert abs(sum(weights) / sum(outline.requests for outline in outlines) / 25_390 - 1) < 0.01


def test_a_site_is_what_its_outline_says(tmp_path: Path) -> None:
    """A browser asks for each file once."""
    page = NamedPage(name="biswal-dense-01")
    sites.served(tmp_path).mkdir(parents=True)
    made = biswal.make(page, 1, Path(), tmp_path, print)
    known = biswal.outline(page, Path())
    assert (made.requests(), made.weight()) == (known.requests, known.weight)


def test_every_type_of_object_has_small_and_large_ones() -> None:
    """Styles, scripts, and the images of page and program each span a factor of four."""
    sizes = [len(file.body) for file in biswal.files("biswal-dense-01", 1)][1:]
    styles, scripts, images = sizes[:6], sizes[6:26], sizes[26:]
    half = len(images) // 2
    for some in (styles, scripts, images[:half], images[half:]):
        assert max(some) > 4 * min(some)
