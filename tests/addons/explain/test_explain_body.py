"""Page loads are explained by their paths; campaigns that cannot be explained are mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from httpbed.addons.explain import explain_body, page_report
from httpbed.addons.explain.explain_report import Shown
from httpbed.base.errors import ConfigError
from httpbed.programs import catalog as catalogs
from httpbed.results import attempts
from page_campaigns import page_campaign

CATALOG = catalogs.load()


def test_loads_of_pages_are_explained_by_their_critical_paths(
    tmp_path: Path,
) -> None:
    results = page_campaign(tmp_path)
    found = page_report.read(results, [*attempts.valid(results)][:6], CATALOG).values()
    assert len(found["loads"]) == 6
    for one in found["loads"]:
        assert sum(one["shares"].values()) == pytest.approx(one["seconds"], abs=1e-4)
        assert sum(one["largest_contentful_paint"].values()) == pytest.approx(
            one["seconds"], abs=1e-4
        )
    differs = found["difference"]
    assert sum(differs["shares"].values()) == pytest.approx(differs["seconds"], abs=1e-4)


def test_a_load_that_cannot_be_read_is_named_beside_the_others(
    tmp_path: Path,
) -> None:
    results = page_campaign(tmp_path, only={"http_version": "2"})
    found = page_report.read(results, [*attempts.valid(results)][:6], CATALOG).values()
    assert {one["levels"]["http_version"] for one in found["loads"]} == {"2"}
    assert found["not_explained"]


def test_a_campaign_without_any_readable_load_is_a_mistake(tmp_path: Path) -> None:
    results = page_campaign(tmp_path, only={"http_version": "none"})
    rows = [*attempts.valid(results)]
    with pytest.raises(ConfigError) as refused:
        explain_body._explain_pages(results, rows, None, "text", CATALOG, tries=False)
    (mistake,) = refused.value.mistakes
    assert mistake.place == str(results.directory)
    assert mistake.remedy


def test_the_page_follows_no_link_out_of_a_campaign(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A campaign comes from anywhere, and so do the links in its folder."""
    results = page_campaign(tmp_path / "campaign")
    own = tmp_path / "own.txt"
    own.write_text("mine")
    page = results.directory / explain_body.REPORT
    page.symlink_to(own)
    explain_body._print(Shown(results, []), "text", results.directory)
    assert own.read_text() == "mine"
    assert not page.is_symlink()
    assert str(page) in capsys.readouterr().out
