"""What is known of a page goes into trials; an author's contrary value is a mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from httpbed.addons.pages import campaign_addition as sites
from httpbed.addons.pages.page import PageLoad
from httpbed.addons.pages.sites.generated import images
from httpbed.base.errors import ConfigError
from httpbed.campaign import preparation
from httpbed.programs import catalog
from page_campaigns import PAGES

PAGE = '{ objects = 64, size = "10 kB" }'


def trials(page: str = PAGE) -> list[Any]:
    """Design an experiment that loads a page."""
    text = PAGES.replace(PAGE, page)
    return list(preparation.load(text, catalog.load(), Path()).trials)


def test_trials_depend_on_the_generator_of_their_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another release makes other bytes of the same seed."""
    before = trials()
    assert before[0].document["workload"]["page"]["version"] == images.ENCODER
    monkeypatch.setattr(images, "ENCODER", "Pillow 99")
    assert {one.id for one in before}.isdisjoint(trial.id for trial in trials())


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("requests = 3", "workload.page.requests"),
        ('entry = "/other.html"', "workload.page.entry"),
        ('origins = ["elsewhere.test"]', "workload.page.origins"),
        ('version = "Pillow 0"', "workload.page.version"),
    ],
)
def test_a_wrong_value_of_a_page_is_refused(said: str, place: str) -> None:
    """With its place; right values are accepted."""
    with pytest.raises(ConfigError) as refused:
        trials(PAGE.replace(" }", f", {said} }}"))
    assert [mistake.place for mistake in refused.value.mistakes] == [place]
    assert trials(PAGE.replace(" }", ", requests = 65 }")) == trials()


def test_a_site_of_another_digest_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generated site's digest is known only once it is made."""
    monkeypatch.setenv("HTTPBED_CACHE", str(tmp_path / "cache"))
    page = {"objects": 1, "size": "100 B", "sha256": "0" * 64}
    load = PageLoad.model_validate({"kind": "page", "page": page})
    with pytest.raises(ConfigError, match="is 000"):
        sites.ADDITION.sites([load], 1, tmp_path, print)
