"""Generated pages match the outline that was known before they were made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from httpbed.addons.pages.page import Page, SyntheticPage
from httpbed.addons.pages.sites import catalog
from httpbed.addons.pages.sites.catalog import CachedSite
from httpbed.addons.pages.sites.generated import files, ranjan, synthetic
from httpbed.base.errors import ConfigError

PAGES: TypeAdapter[Any] = TypeAdapter(Page)
LINK = r'(?:src|href|url)[=(]"([^"]+)"'
NOWHERE = Path("/nonexistent")
SYNTHETIC = [{"objects": count, "size": size} for count, size in ((2, "100 B"), (9, "2 kB"))]


def ensured(stated: object, seed: int = 1) -> CachedSite:
    """Make a page's site, as a campaign does."""
    return catalog.ensure(PAGES.validate_python(stated), seed, NOWHERE, print)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPBED_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("stated", [*SYNTHETIC, *ranjan.NAMES], ids=str)
def test_a_site_agrees_with_its_outline(stated: object) -> None:
    """Requests and weight agree, and every link of the page is a resource."""
    outline = catalog.outline(PAGES.validate_python(stated), NOWHERE)
    site = (stored := ensured(stated)).site
    assert (outline.requests, outline.weight) == (site.requests(), site.weight())
    texts = [resource.file for resource in site.resources if resource.type.startswith("text/")]
    linked = {
        link
        for file in texts
        for link in re.findall(LINK, (stored.folder / "files" / file).read_text())
    }
    assert linked - {"data:,"} == {resource.path for resource in site.resources} - {site.entry}


def test_a_seed_makes_the_same_site_again() -> None:
    """Another seed gives another site with the same lengths."""
    stated = {"objects": 3, "size": "1 kB"}
    page = PAGES.validate_python(stated)
    bodies = [[file.body for file in synthetic.files(page, seed)] for seed in (1, 1, 2)]
    assert bodies[0] == bodies[1] != bodies[2]
    assert ensured(stated).site.digest != ensured(stated, 2).site.digest


@given(st.integers(1, 200), st.integers(100, 10**5))
def test_a_grid_has_a_cell_for_each_image(objects: int, size: int) -> None:
    """No row of the grid is empty."""
    page = SyntheticPage.model_validate({"objects": objects, "size": f"{size} B"})
    text = synthetic._document(page).body.decode()
    columns = int(re.findall(r"repeat\((\d+),1fr", text)[0])
    rows = int(re.findall(r"repeat\((\d+),minmax", text)[0])
    assert columns * (rows - 1) < objects <= columns * rows
    assert text.count("<img ") == objects


def test_a_page_too_large_for_a_site_is_refused() -> None:
    """The mistake comes before anything is made, with a remedy."""
    page = PAGES.validate_python({"objects": 1000, "size": "100 MB"})
    with pytest.raises(ConfigError, match="fewer or smaller"):
        catalog.outline(page, NOWHERE)


def test_an_unknown_name_is_a_mistake_with_similar_names() -> None:
    with pytest.raises(ConfigError, match="did you mean 'ranjan-small-few'"):
        catalog.outline(PAGES.validate_python("ranjan-smal-few"), NOWHERE)


@settings(max_examples=20)
@given(st.integers(0, 2**63), st.integers(1_000, 50_000))
def test_scripts_and_styles_have_the_given_length(seed: int, size: int) -> None:
    """The length is exact."""
    assert len(files.script("/a.js", seed, size).body) == size
    assert len(files.style("/a.css", "h1 { color: red; }\n", seed, size).body) == size


@pytest.mark.parametrize(
    ("name", "weight", "lengths"),
    [
        ("ranjan-small-few", 1_400_000, (400, 8_000)),
        ("ranjan-small-many", 1_700_000, (400, 8_000)),
        ("ranjan-large-few", 2_900_000, (128_000, 128_000)),
        ("ranjan-large-many", 19_600_000, (128_000, 128_000)),
        ("ranjan-large-few-200", 2_900_000, (304_200, 304_200)),
        ("ranjan-large-many-200", 19_600_000, (364_420, 364_420)),
    ],
)
def test_ranjans_sites_have_the_sizes_that_he_published(
    name: str, weight: int, lengths: tuple[int, int]
) -> None:
    """His number of JPEG images, and his smallest and largest lengths."""
    site = ensured(name).site
    assert site.weight() == weight
    pictures = [resource.bytes for resource in site.resources if resource.type == "image/jpeg"]
    assert len(pictures) == (5 if "few" in name else 50)
    assert (min(pictures), max(pictures)) == lengths
    assert site.requests() - len(pictures) == 12


def test_a_stated_digest_must_be_the_sites() -> None:
    """The digest is checked when the site is made, and later."""
    digest = ensured(SYNTHETIC[0]).site.digest
    assert ensured({**SYNTHETIC[0], "sha256": digest}).site.digest == digest
    with pytest.raises(ConfigError, match="sha256"):
        ensured({**SYNTHETIC[0], "sha256": "0" * 64})
