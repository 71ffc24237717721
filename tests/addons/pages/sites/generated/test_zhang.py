"""Zhang and Song's two sites match what they publish."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.pages.page import NamedPage
from httpbed.addons.pages.sites import site as sites
from httpbed.addons.pages.sites.generated import zhang


@pytest.mark.parametrize(("name", "count"), [("zhang-13-files", 13), ("zhang-43-files", 43)])
def test_each_has_the_published_number_of_files(name: str, count: int, tmp_path: Path) -> None:
    """The outline agrees with the site."""
    page = NamedPage(name=name)
    sites.served(tmp_path).mkdir(parents=True)
    made = zhang.make(page, 1, Path(), tmp_path, print)
    known = zhang.outline(page, Path())
    assert (made.requests(), made.weight()) == (known.requests, known.weight)
    assert made.requests() == count
